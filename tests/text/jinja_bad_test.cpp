// Templates that are wrong, or go wrong: each gets one sentence with its line, none a crash, a hang
// or memory without end.
#include "tests/text/jinja_cases.h"

namespace headlight::text::jinja {
namespace {

struct Bad {
  std::string source;
  std::string line;  // "line 1): unexpected }}"
};

void expect_refused(const std::vector<Bad>& cases) {
  for (const Bad& bad : cases) {
    const std::string error = error_from(bad.source, R"({"x":"text","l":[1],"d":{"a":1}})");
    EXPECT_EQ(error, "chat template (test, " + bad.line) << bad.source.substr(0, 200);
  }
}

std::string repeated(const std::string& text, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) result += text;
  return result;
}

TEST(JinjaBad, tags_and_texts_that_do_not_end) {
  expect_refused({
      {"a {{ x", "line 1): a tag {{ does not end"},
      {"a\n{% if x", "line 2): a tag {% does not end"},
      {"{# note", "line 1): a comment {# does not end"},
      {"{% raw %} {{ x }}", "line 1): {% raw %} without {% endraw %}"},
      {"{{ 'x }}", "line 1): a text in quotes does not end"},
      {"{% if x %}a", "line 1): the template ends before {% endif %}"},
      {"{% if x %}a{% else %}b", "line 1): the template ends before {% endif %}"},
      {"\n\n{% for i in l %}", "line 3): the template ends before {% endfor %}"},
      {"{% macro m() %}", "line 1): the template ends before {% endmacro %}"},
      {"{% set x %}a", "line 1): the template ends before {% endset %}"},
      {"{% generation %}", "line 1): the template ends before {% endgeneration %}"},
      {"{% call f() %}", "line 1): the template ends before {% endcall %}"},
      {"{% filter upper %}", "line 1): the template ends before {% endfilter %}"},
      {"{{ '\\x4' }}", "line 1): a text in quotes has an escape that is not supported"},
      {"{{ '\\ud83d' }}", "line 1): a text in quotes has an escape that is not supported"},
      {"{{ '\\N{DASH}' }}", "line 1): a text in quotes has an escape that is not supported"},
  });
}

TEST(JinjaBad, loops_that_are_called_when_they_cannot_be) {
  const std::string reason = "loop() is for loops that are recursive and have not ended";
  expect_refused({
      {"{% for i in l %}{{ loop(l) }}{% endfor %}", "line 1): " + reason},
      {"{% set kept = namespace(loop=none) %}"
       "{% for i in l %}{% for j in l recursive %}{% set kept.loop = loop %}{% endfor %}{% endfor "
       "%}"
       "{{ kept.loop([1]) }}",
       "line 1): " + reason},
  });
}

TEST(JinjaBad, words_in_the_wrong_place) {
  expect_refused({
      {"{{ }}", "line 1): unexpected }}"},
      {"{{ x y }}", "line 1): unexpected \"y\""},
      {"{{ 1 + }}", "line 1): unexpected }}"},
      {"{{ (x }}", "line 1): unexpected }"},
      {"{{ x) }}", "line 1): unexpected )"},
      {"{{ [1, 2) }}", "line 1): unexpected )"},
      {"{{ x[] }}", "line 1): nothing stands between [ and ]"},
      {"{{ x ? y }}", "line 1): unexpected character \"?\""},
      {"{{ 012 }}", "line 1): unexpected \"12\""},
      {"{{ 9223372036854775808 }}",
       "line 1): the number \"9223372036854775808\" is none, or too large"},
      {"{% endif %}", "line 1): unknown tag {% endif %}"},
      {"{% nonsense %}", "line 1): unknown tag {% nonsense %}"},
      {"{% if %}{% endif %}", "line 1): unexpected %}"},
      {"{% for i l %}{% endfor %}", "line 1): unexpected \"l\""},
      {"{% for 1 in l %}{% endfor %}", "line 1): unexpected \"1\""},
      {"{% set 1 = 2 %}", "line 1): unexpected \"1\""},
      {"{% set none = 2 %}", "line 1): cannot assign to none"},
      {"{% break %}", "line 1): {% break %} stands outside of a loop"},
      {"{% for i in l %}{% macro m() %}{% break %}{% endmacro %}{% endfor %}",
       "line 1): {% break %} stands outside of a loop"},
      {"{% extends 'a' %}", "line 1): {% extends %} is not supported: a template is alone"},
      {"{% include 'a' %}", "line 1): {% include %} is not supported: a template is alone"},
      {"{% call 1 %}{% endcall %}", "line 1): {% call %} needs a call"},
      {"{% macro m(a=1, b) %}{% endmacro %}",
       "line 1): a parameter without a default follows one with a default"},
      {"{% macro m(a, a) %}{% endmacro %}", "line 1): the parameter \"a\" stands twice"},
      {"{{ f(a=1, a=2) }}", "line 1): the argument \"a\" is given twice"},
      {"{{ f(a=1, 2) }}", "line 1): unexpected \"2\""},
      {"{{ x is defined is defined }}", "line 1): tests with is cannot follow each other"},
      {"{{ x | nonsense }}", "line 1): there is no filter \"nonsense\""},
      {"{{ x is nonsense }}", "line 1): there is no test \"nonsense\""},
      {"{% if x %}{{ x | nonsense }}{% endif %}", "line 1): there is no filter \"nonsense\""},
  });
}

TEST(JinjaBad, values_that_do_not_fit) {
  expect_refused({
      {"{{ 'a' + 1 }}", "line 1): cannot compute str + int"},
      {"{{ nothing.name }}", "line 1): 'nothing' is undefined"},
      {"\n{{ d.b.c }}", "line 2): 'dict object' has no attribute 'b'"},
      {"{{ nothing() }}", "line 1): 'nothing' is undefined"},
      {"{{ x() }}", "line 1): str cannot be called"},
      {"{{ nothing + 1 }}", "line 1): 'nothing' is undefined"},
      {"{{ 1 / 0 }}", "line 1): division by zero"},
      {"{{ 1 % 0 }}", "line 1): division by zero"},
      {"{{ 9223372036854775807 + 1 }}", "line 1): a whole number grows beyond 64 bits"},
      {"{{ 10 ** 30 }}", "line 1): a whole number grows beyond 64 bits"},
      {"{{ -9223372036854775807 - 2 }}", "line 1): a whole number grows beyond 64 bits"},
      {"{% for i in 3 %}{% endfor %}", "line 1): int cannot be iterated"},
      {"{% for a, b in [[1]] %}{% endfor %}", "line 1): a value of 1 items is unpacked to 2 names"},
      {"{{ 1 < 'a' }}", "line 1): int and str cannot be ordered"},
      {"{{ 1 in 'abc' }}", "line 1): only a text can be in a text, not int"},
      {"{{ {[1]: 2} }}", "line 1): list cannot be the key of a dict"},
      {"{{ l[::0] }}", "line 1): a slice's step is 0"},
      {"{{ l['a':] }}", "line 1): a slice's bounds are whole numbers, not str"},
      {"{{ l.append(1) }}", "line 1): access to attribute 'append' of 'list' object is unsafe"},
      {"{{ x.__class__.mro() }}",
       "line 1): access to attribute '__class__' of 'str' object is unsafe"},
      {"{{ x.encode() }}", "line 1): the method encode of texts is not supported"},
      {"{{ x.split('') }}", "line 1): split: the separator is empty"},
      {"{{ x.join([1]) }}", "line 1): join joins texts, not int"},
      {"{{ nothing | tojson }}", "line 1): Undefined cannot be written as JSON"},
      {"{{ range(3) }}", "line 1): a range or an iterator has no text; | list makes a list of it"},
      {"{{ range }}", "line 1): a function has no text"},
      {"{{ range(1, 2, 0) }}", "line 1): range: the step is 0"},
      {"{{ range(1000000) | length }}", "line 1): range: more than 100000 numbers"},
      {"{{ x | trim(1, 2) }}", "line 1): trim takes at most 1 arguments, it is given 2"},
      {"{{ x | trim(letters='a') }}", "line 1): trim takes no argument \"letters\""},
      {"{{ x | replace('a') }}", "line 1): replace needs the argument new"},
      {"{% macro m() %}{% endmacro %}{{ m(1) }}",
       "line 1): the macro m takes at most 0 arguments, it is given 1"},
      {"{% macro m() %}{% endmacro %}{{ m(a=1) }}", "line 1): the macro m takes no argument \"a\""},
      {"{% set d.a = 1 %}", "line 1): cannot set d.a: it is no namespace"},
      {"{{ raise_exception('Roles must alternate') }}", "line 1): says: Roles must alternate"},
      {"{{ '%d' % 'a' }}", "line 1): cannot write str in the place of %d"},
      {"{{ '%s %s' % 'a' }}", "line 1): there are fewer values than the text before % has"},
      {"{{ '%10001d' % 1 }}", "line 1): more than 10000 letters of room are asked for"},
      {"{{ '%.301f' % 1.5 }}", "line 1): more than 300 letters of room are asked for"},
      {"{{ '{:>99999999999999999999}'.format(1) }}",
       "line 1): more than 10000 letters of room are asked for"},
      {"{{ 'a' | center(1000001) }}", "line 1): more than 1000000 letters of room are asked for"},
      {"{{ 'a'.ljust(1000001) }}", "line 1): more than 1000000 letters of room are asked for"},
      {"{{ 'a'.zfill(1000001) }}", "line 1): more than 1000000 letters of room are asked for"},
      {"{{ 'a' | indent(10001) }}", "line 1): more than 10000 letters of room are asked for"},
      {"{{ l | tojson(indent=101) }}", "line 1): more than 100 letters of room are asked for"},
      {"{{ l | tojson(indent='ä' * 51) }}", "line 1): more than 100 letters of room are asked for"},
      {"{{ '{}'.format() }}", "line 1): format: there is no value 0"},
      {"{{ lipsum() }}", "line 1): the function lipsum is not supported"},
      {"{{ l | sum('a') }}", "line 1): 'int object' has no attribute 'a'"},
  });
}

TEST(JinjaBad, what_never_ends_is_ended) {
  expect_refused({
      {"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
       "line 1): nests too deep; does a macro call itself without end?"},
      {"{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}",
       "line 1): makes too much text"},
      {"{% for i in range(100000) %}{% for j in l * 99 %}{{ j }}{% endfor %}{% endfor %}",
       "line 1): takes too many steps; does a loop not end?"},
      {"{{ 'a' * 1000000000 }}", "line 1): takes too many steps; does a loop not end?"},
      {"{{ 'a' * 9223372036854775807 }}", "line 1): makes too much text"},
      {"{% set ns = namespace(a='x' * 1000) %}{% for i in range(50) %}"
       "{% set ns.a = ns.a + ns.a %}{% endfor %}",
       "line 1): takes too many steps; does a loop not end?"},
      {"{% set ns = namespace(a=[]) %}{% for i in range(200) %}{% set ns.a = [ns.a] %}{% endfor %}",
       "line 1): a value has more than 100 levels"},
      {"{% set ns = namespace(a=[1]) %}{% for i in range(90) %}{% set ns.a = [ns.a, ns.a] %}"
       "{% endfor %}{{ ns.a }}",
       "line 1): takes too many steps; does a loop not end?"},
      {"{% set ns = namespace(a=(1,)) %}{% for i in range(90) %}{% set ns.a = (ns.a, ns.a) %}"
       "{% endfor %}{{ {ns.a: 1} }}",
       "line 1): takes too many steps; does a loop not end?"},
      {"{% set a = 'a' * 500000 %}{% set b = a + 'b' %}{% set c = a + a %}"
       "{% for i in range(1000) %}{{ b in c }}{% endfor %}",
       "line 1): makes too much text"},
      {"{% set a = 'a' * 500000 %}{% set b = 'b' + a %}{% set c = a + a %}"
       "{% for i in range(1000) %}{{ c.rfind(b) + c.split(b) | length }}{% endfor %}",
       "line 1): makes too much text"},
      {"{% set a = 'a' * 100000 %}{% for i in range(1000) %}{{ a.strip(a) }}{% endfor %}",
       "line 1): makes too much text"},
      {"{% set a = 'a' * 5000 * 5000 %}{% for i in range(100000) %}{{ a.startswith(a) }}{% endfor "
       "%}",
       "line 1): takes too many steps; does a loop not end?"},
      {"{% set a = '1' * 5000 * 5000 %}{% for i in range(100000) %}{{ a | int }}{% endfor %}",
       "line 1): takes too many steps; does a loop not end?"},
      {"{% set a = '1' * 5000 * 5000 %}{% for i in range(100000) %}{{ a.zfill(1) | length }}"
       "{% endfor %}",
       "line 1): makes too much text"},
      {"{% set a = 'a' * 5000 * 5000 %}{% for i in range(100000) %}{{ a is upper }}{% endfor %}",
       "line 1): takes too many steps; does a loop not end?"},
      {"{{ " + repeated("(", 2000) + "1" + repeated(")", 2000) + " }}", "line 1): nests too deep"},
      {"{{ " + repeated("not ", 2000) + "1 }}", "line 1): nests too deep"},
      {"{{ " + repeated("-", 2000) + "1 }}", "line 1): nests too deep"},
      {"{{ 1" + repeated(" + 1", 5000) + " }}", "line 1): an expression has too many levels"},
      {"{{ x" + repeated(".a", 5000) + " }}", "line 1): an expression has too many levels"},
      {"{{ x" + repeated("|trim", 5000) + " }}", "line 1): an expression has too many levels"},
      {repeated("{% if x %}", 2000), "line 1): nests too deep"},
      {repeated("{% for i in l %}", 2000), "line 1): nests too deep"},
      {std::string(1'000'001, 'a'), "line 1): has 1000001 bytes, at most 1000000 are read"},
      {"a\n\xff", "line 2): is not UTF-8"},
  });
}

// A template that makes `step` of `ns.x` again and again, and writes "end".
std::string growing(const std::string& first, const std::string& step) {
  return "{% set ns = namespace(x=" + first + ") %}{% for i in range(50000) %}" + step +
         "{% endfor %}end";
}

// What holds values is taken apart level by level when it goes: so the levels are few.
TEST(JinjaBad, values_that_hold_values_without_end_are_refused) {
  const std::string reason = "line 1): a value has more than 100 levels";
  expect_refused({
      {growing("{}", "{% set ns.x = {'a': ns.x.get} %}"), reason},
      {growing("[]", "{% set ns.x = [ns.x.count] %}"), reason},
      {growing("()", "{% set ns.x = (ns.x.index,) %}"), reason},
      {growing("[]", "{% set ns.x = [[ns.x].copy] %}"), reason},
      {growing("{}", "{% set ns.x = {'a': ns.x['get']} %}"), reason},
      {growing("{}", "{% set ns.x = dict(a=ns.x | attr('get')) %}"), reason},
      {growing("{}", "{% set ns.x = ([{'a': ns.x}] | map(attribute='get') | list)[0] %}"), reason},
      {growing("[]", "{% set ns.x = [ns.x] | select %}"), reason},
      {growing("[]", "{% set ns.x = [ns.x] | map('list') %}"), reason},
      {growing("[]", "{% set ns.x = [ns.x] | batch(2) %}"), reason},
      {growing("{}", "{% set ns.x = {'a': ns.x}.values() %}"), reason},
      {growing("{}", "{% set ns.x = {'a': ns.x}.items() %}"), reason},
      {"{% macro m() %}{% set keeper.x = varargs %}{% endmacro %}{% set keeper = namespace(x=()) %}"
       "{% for i in range(50000) %}{{ m(keeper.x) }}{% endfor %}",
       reason},
      {"{% macro m() %}{% set keeper.x = kwargs %}{% endmacro %}{% set keeper = namespace(x={}) %}"
       "{% for i in range(50000) %}{{ m(a=keeper.x) }}{% endfor %}",
       reason},
  });
}

// Macros, namespaces and loops are the render's: who holds one of them holds no level.
TEST(JinjaBad, macros_namespaces_and_loops_in_long_chains_end_well) {
  const std::vector<std::string> sources = {
      growing("none", "{% set ns.x = namespace(x=ns.x) %}"),
      growing("none", "{% set ns.x = [namespace(x=ns.x)] %}"),
      growing("none", "{% set ns.x = namespace(x=[ns]) %}"),
      growing("none",
              "{% set kept = ns.x %}{% macro m(a=kept) %}{{ kept }}{% endmacro %}"
              "{% set ns.x = [m] %}"),
      growing("none", "{% for j in [ns.x] %}{% set ns.x = [loop, loop.changed] %}{% endfor %}"),
      growing("none",
              "{% for j in [1] %}{{ '' if loop.changed(ns.x) }}{% set ns.x = [loop.changed]"
              " %}{% endfor %}"),
      "{% macro m() %}{{ caller() }}{% endmacro %}" +
          growing("none", "{% call m() %}{% set ns.x = [caller, m] %}{% endcall %}"),
  };
  for (const std::string& source : sources) EXPECT_EQ(text_from(source), "end") << source;
}

TEST(JinjaBad, limits_are_the_callers) {
  EXPECT_EQ(error_from("{{ 1 }}{{ 2 }}{{ 3 }}", "{}", {.steps = 5}),
            "chat template (test, line 1): takes too many steps; does a loop not end?");
  EXPECT_EQ(error_from("abcdef", "{}", {.bytes = 5}),
            "chat template (test, line 1): makes too much text");
}

}  // namespace
}  // namespace headlight::text::jinja
