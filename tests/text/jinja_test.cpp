// The language of templates: every result here is what jinja2 gives with transformers' settings.
#include <chrono>

#include "tests/text/jinja_cases.h"

namespace headlight::text::jinja {
namespace {

struct Case {
  const char* source;
  const char* expected;
};

constexpr const char* kThings =
    R"({"x":3,"f":2.5,"s":"Straße <b>","l":[3,1,2],"e":[],"d":{"b":2,"a":1,"items":"mine"},"n":null,
        "m":[{"role":"user","content":"hi","k":{"z":1}},{"role":"tool","content":"ho","k":{"z":0}}]})";

void expect_all(std::initializer_list<Case> cases) {
  for (const Case& one : cases) {
    try {
      EXPECT_EQ(text_from(one.source, kThings), one.expected) << one.source;
    } catch (const base::Error& error) {
      ADD_FAILURE() << one.source << ": " << error.what();
    }
  }
}

TEST(JinjaTexts, are_stripped_of_many_letters_in_time_for_both_lengths) {
  const std::string long_text = "{% set t = 'aé' * 1000000 %}{% set l = 'b' * 200 ~ 'éa' %}";
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(text_from(long_text + "{{ ('x' ~ t).rstrip(l) }}|{{ (t ~ 'x').lstrip(l) }}|"
                                  "{{ ('x' ~ t ~ 'é') | trim('éax') }}|"
                                  "{% for i in range(20) %}{{ t.strip(l) }}{% endfor %}"),
            "x|x||");
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  EXPECT_LT(taken.count(), 10);
}

TEST(Jinja, values_are_written_as_python_writes_them) {
  expect_all(
      {{"{{ true }} {{ none }} {{ 1 }} {{ -7 // 2 }} {{ -7 % 3 }}", "True None 1 -4 2"},
       {"{{ 1.0 }} {{ 1e16 }} {{ 1e-5 }} {{ 0.1 + 0.2 }} {{ 7 / 2 }} {{ 123456789.0 }}",
        "1.0 1e+16 1e-05 0.30000000000000004 3.5 123456789.0"},
       {"{{ [1, 'a', none, 2.0, true] }}", "[1, 'a', None, 2.0, True]"},
       {"{{ (1,) }} {{ () }} {{ (1, 'b') }}", "(1,) () (1, 'b')"},
       {"{{ {'a': [1], 2: \"it's\"} }}", "{'a': [1], 2: \"it's\"}"},
       {"{{ 'a\\n\\t\\x41\\u00e9' }}", "a\n\tAé"},
       {"{{ ['\\n\\x00\\u200b\\\\'] }}", "['\\n\\x00\\u200b\\\\']"},
       {"{{ ['\\u0378\\uffff\\u00ad\\ue000 \\u00a0é'] }}", "['\\u0378\\uffff\\xad\\ue000 \\xa0é']"},
       {"{{ 2 ** 10 }} {{ 2 ** -1 }} {{ 0x1F }} {{ 1_000 }}", "1024 0.5 31 1000"},
       {"{{ d['items'] }}|{{ d.keys() }}", "mine|dict_keys(['b', 'a', 'items'])"},
       {"{{ undefined_name }}|{{ d.nothing }}|{{ l[9] }}", "||"}});
}

TEST(Jinja, operators_follow_python) {
  expect_all({{"{{ 'a' ~ 1 ~ none }} {{ 'ab' * 2 }} {{ [1] + [2] }}", "a1None abab [1, 2]"},
              {"{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 1 == 1.0 == true }}", "True False True"},
              {"{{ 'a' in 'cat' }} {{ 4 not in l }} {{ 'a' in d }}", "True True True"},
              {"{{ 0 or 'b' }} {{ 0 and 'b' }} {{ not e }}", "b 0 True"},
              {"{{ 'y' if x else 'z' }}{{ 'w' if e }}", "y"},
              {"{{ l[-1] }} {{ l[1:] }} {{ l[::-1] }} {{ s[:3] }} {{ s[-3:] }} {{ s[::-1] }}",
               "2 [1, 2] [2, 1, 3] Str <b> >b< eßartS"},
              {"{{ -x ** 2 }} {{ 10 - 2 - 3 }} {{ (2 + 3) ~ '4' }}", "9 5 54"},
              {"{{ '%.2d|%5.3d|%+ d|% +d' % (5, -7, 1, 2) }}", "05| -007|+1|+2"},
              {"{{ '{:,.0%}|{:,}|{:05}|{:<05}|{:05}'.format(5, 1e-9, 'a', 7, -7) }}",
               "500%|1e-09|a0000|70000|-0007"},
              {"{{ '%s is %d, %.2f, %5s|%-5s|' % ('x', 3, 1.005, 'r', 'l') }}",
               "x is 3, 1.00,     r|l    |"},
              {"{{ '{} {} {a:>4}|{b:02d}|{c:.1f}|{{}}'.format(1, 'z', a='x', b=7, c=2.25) }}",
               "1 z    x|07|2.2|{}"}});
}

TEST(Jinja, filters_do_what_they_do_there) {
  expect_all(
      {{"{{ '  a b ' | trim }}|{{ 'xxaxx' | trim('x') }}", "a b|a"},
       {"{{ s | upper }} {{ 'ÀB' | lower }} {{ 'hello wORLD-x' | title }} {{ 'aBC' | capitalize }}",
        "STRASSE <B> àb Hello World-X Abc"},
       {"{{ l | length }} {{ s | count }} {{ l | join(', ') }} {{ m | join('+', attribute='role') "
        "}}",
        "3 10 3, 1, 2 user+tool"},
       {"{{ l | first }} {{ l | last }} {{ l | sort }} {{ l | sort(reverse=true) }}",
        "3 2 [1, 2, 3] [3, 2, 1]"},
       {"{{ l | max }} {{ l | min }} {{ l | sum }} {{ -3 | abs }} {{ 2.567 | round(1) }}",
        "3 1 6 3 2.6"},
       {"{{ d | dictsort }} {{ d | items | list }}",
        "[('a', 1), ('b', 2), ('items', 'mine')] [('b', 2), ('a', 1), ('items', 'mine')]"},
       {"{{ '42' | int + 1 }} {{ 'x' | int(7) }} {{ '3.7' | int }} {{ '1.5' | float }}",
        "43 7 3 1.5"},
       {"{{ nothing | default('D') }} {{ '' | d('E', true) }} {{ n | default('F') }}", "D E None"},
       {"{{ m | map(attribute='role') | list }} {{ l | map('string') | join }}",
        "['user', 'tool'] 312"},
       {"{{ m | selectattr('role', 'equalto', 'tool') | map(attribute='content') | first }}", "ho"},
       {"{{ m | rejectattr('k.z') | list | length }} {{ l | select('odd') | list }}", "1 [3, 1]"},
       {"{{ l | reject('in', [1]) | list }} {{ [1, 'A', 'a', 1.0] | unique | list }}",
        "[3, 2] [1, 'A']"},
       {"{{ 'a\\nb\\n\\nc' | indent(2) }}", "a\n  b\n\n  c"},
       {"{{ 'a-b' | replace('-', '+') }} {{ 'aaa' | replace('a', 'b', 2) }}", "a+b bba"},
       {"{{ '<x>' | e }} {{ '<y>' | safe + '<z>' }} {{ '<y>' | safe ~ '<z>' }}",
        "&lt;x&gt; <y>&lt;z&gt; <y><z>"},
       {"{{ [1, 2, 3] | batch(2) | list }} {{ 'abc' | reverse }} {{ l | reverse | list }}",
        "[[1, 2], [3]] cba [2, 1, 3]"},
       {"{{ 'two words' | wordcount }} {{ 'x' | center(5) }}|", "2   x  |"}});
}

TEST(Jinja, tojson_is_that_of_transformers) {
  expect_all({{"{{ m[0] | tojson }}", R"({"role": "user", "content": "hi", "k": {"z": 1}})"},
              {"{{ {'a': [1, 2.5, none, true], 'é': '\"\\n\\x01<'} | tojson }}",
               R"({"a": [1, 2.5, null, true], "é": "\"\n\u0001<"})"},
              {"{{ 'é😀' | tojson(ensure_ascii=true) }}", R"("\u00e9\ud83d\ude00")"},
              {"{{ {'b': [], 'a': {}} | tojson(indent=2) }}", "{\n  \"b\": [],\n  \"a\": {}\n}"},
              {"{{ {'b': [1], 'a': 2} | tojson(indent=1, sort_keys=true) }}",
               "{\n \"a\": 2,\n \"b\": [\n  1\n ]\n}"},
              {"{{ [1, {'a': 2}] | tojson(separators=(',', ':')) }}", R"([1,{"a":2}])"},
              {"{{ {1: 2, none: 3, true: 4} | tojson }}", R"({"1": 4, "null": 3})"}});
}

TEST(Jinja, methods_of_texts_and_dicts) {
  expect_all(
      {{"{{ ' a '.strip() }}|{{ 'xxa'.lstrip('x') }}|{{ 'a!?'.rstrip('?!') }}", "a|a|a"},
       {"{{ 'a,b,c'.split(',') }} {{ 'a,b,c'.split(',', 1) }} {{ 'a,b,c'.rsplit(',', 1) }}",
        "['a', 'b', 'c'] ['a', 'b,c'] ['a,b', 'c']"},
       {"{{ ' a  b '.split() }} {{ ' a b c '.split(none, 1) }} {{ ' a b c '.rsplit(none, 1) }}",
        "['a', 'b'] ['a', 'b c '] [' a b', 'c']"},
       {"{{ 'abc'.startswith(('x', 'a')) }} {{ 'abc'.endswith('c') }} {{ 'ßab'.find('b') }}",
        "True True 2"},
       {"{{ 'a-b'.replace('-', '') }} {{ 'ab'.replace('', '.') }} {{ '-'.join(['a', 'b']) }}",
        "ab .a.b. a-b"},
       {"{{ \"they're bill's\".title() }} {{ 'abcabc'.count('bc') }} {{ '7'.zfill(3) }}",
        "They'Re Bill'S 2 007"},
       {"{{ 'a\\nb\\r\\nc'.splitlines() }} {{ 'k=v'.partition('=') }}",
        "['a', 'b', 'c'] ('k', '=', 'v')"},
       {"{{ 'abc'.removeprefix('a').removesuffix('c') }} {{ '12'.isdigit() }} {{ 'aB'.islower() }}",
        "b True False"},
       {"{{ d.get('a') }} {{ d.get('zz') }} {{ d.get('zz', 5) }} {{ d.values() | list }}",
        "1 None 5 [2, 1, 'mine']"},
       {"{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}", "b=2;a=1;items=mine;"},
       {"{{ l.index(1) }} {{ l.count(3) }}", "1 1"}});
}

TEST(Jinja, what_is_undefined_is_a_key_that_no_dict_has) {
  expect_all(
      {{"{{ d[y] is defined }} {{ d[d.zz] is defined }} {{ d[(1, y)] is defined }}",
        "False False False"},
       {"{{ y in d }} {{ y not in d }} {{ d.get(y) }} {{ d.get(y, 5) }}", "False True None 5"},
       {"{{ {'string': 'str'}[(d | items).type] is defined }}", "False"},
       {"{% set k = {y: 1} %}{{ k[y] }} {{ y in k }}", "1 True"}});
}

TEST(Jinja, tests_after_is) {
  expect_all(
      {{"{{ x is defined }} {{ y is defined }} {{ y is undefined }} {{ n is none }}",
        "True False True True"},
       {"{{ s is string }} {{ d is mapping }} {{ l is iterable }} {{ d is sequence }}",
        "True True True True"},
       {"{{ s is iterable }} {{ x is number }} {{ true is number }} {{ x is boolean }}",
        "True True True False"},
       {"{{ true is true }} {{ 1 is true }} {{ x is odd }} {{ x is divisibleby 3 }}",
        "True False True True"},
       {"{{ x is sameas 3 }} {{ n is not none }} {{ x is in [3] }} {{ f is float }}",
        "True False True True"},
       {"{{ x is not defined or y is not defined }} {{ 'a' is lower }} {{ 'A1' is upper }}",
        "True True True"},
       {"{{ 'trim' is filter }} {{ 'odd' is test }} {{ y is iterable }}", "True True True"}});
}

TEST(Jinja, loops_know_where_they_are) {
  expect_all(
      {{"{% for i in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.first }}{{ loop.last }}"
        "{{ loop.revindex }}{{ loop.length }} {% endfor %}",
        "10TrueFalse33 21FalseFalse23 32FalseTrue13 "},
       {"{% for i in l %}{{ loop.previtem }}<{{ i }}>{{ loop.nextitem }} {% endfor %}",
        "<3>1 3<1>2 1<2> "},
       {"{% for i in l if i > 1 %}{{ i }}{{ loop.length }}{% else %}none{% endfor %}", "3222"},
       {"{% for i in e %}x{% else %}none{% endfor %}", "none"},
       {"{% for i in l %}{{ i }}{% break %}{% else %}none{% endfor %}", "3none"},
       {"{% for i in l %}{{ i }}{% continue %}{% else %}none{% endfor %}", "312none"},
       {"{% for i in l %}{{ i }}{% if i == 1 %}{% break %}{% endif %}{% else %}none{% endfor %}",
        "31"},
       {"{% for i in range(5) %}{% if i == 1 %}{% continue %}{% endif %}{% if i == 3 %}{% break %}"
        "{% endif %}{{ i }}{% endfor %}",
        "02"},
       {"{% for a, b in [(1, 2), (3, 4)] %}{{ a + b }} {% endfor %}", "3 7 "},
       {"{% for c in 'aß' %}{{ c }}.{% endfor %}{% for k in d %}{{ k }}{% endfor %}",
        "a.ß.baitems"},
       {"{% for i in [1, [2, [3]]] recursive %}{% if i is iterable %}({{ loop(i) }}){% else %}"
        "{{ i }}@{{ loop.depth }}{% endif %}{% endfor %}",
        "1@1(2@2(3@3))"},
       {"{% for i in [1, 1, 2] %}{{ loop.changed(i) }}{{ loop.cycle('a', 'b') }} {% endfor %}",
        "Truea Falseb Truea "},
       {"{% for i in range(2, 8, 3) %}{{ i }} {% endfor %}{{ range(3) | list }}",
        "2 5 [0, 1, 2]"}});
}

TEST(Jinja, names_belong_to_their_scopes) {
  expect_all(
      {{"{% set a = 1 %}{% for i in l %}{% set a = a + 1 %}{{ a }}{% endfor %}{{ a }}", "2221"},
       {"{% set a = 1 %}{% if x %}{% set a = 2 %}{% endif %}{{ a }}", "2"},
       {"{% set ns = namespace(a=1) %}{% for i in l %}{% set ns.a = ns.a + i %}{% endfor %}"
        "{{ ns.a }}",
        "7"},
       {"{% set a, b = 1, 2 %}{{ a }}{{ b }}{% with c = 3, d = 4 %}{{ c + d }}{% endwith %}",
        "127"},
       {"{% set t %}a{{ x }}{% endset %}{{ t }}{% set u | upper %}b{% endset %}{{ u }}", "a3B"},
       {"{% macro m(a, b=2) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }} {{ m(1, b=5) }} {{ m() }}",
        "12 15 2"},
       {"{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, z=3) }}",
        "(1, 2){'z': 3}"},
       {"{% set g = 1 %}{% macro m() %}{{ g }}{% endmacro %}{% set g = 2 %}{{ m() }}", "2"},
       {"{% macro fact(n) %}{{ 1 if n == 0 else n * (fact(n - 1) | int) }}{% endmacro %}"
        "{{ fact(5) }}",
        "120"},
       {"{% macro box() %}[{{ caller(7) }}]{% endmacro %}{% call(v) box() %}<{{ v }}>{% endcall %}",
        "[<7>]"},
       {"{% filter upper %}abc{{ s[:1] }}{% endfilter %}", "ABCS"},
       {"{% for i in l %}{% macro m() %}{{ i }}{% endmacro %}{{ m() }}{% endfor %}", "312"},
       {"{{ dict(a=1, **{'b': 2}) }} {{ namespace({'q': 4}).q }}", "{'a': 1, 'b': 2} 4"},
       {"{% generation %}a{% set x = 9 %}{{ x }}{% endgeneration %}{{ x }}", "a93"},
       {"{% print 'a', 'b' %}", "ab"}});
}

TEST(Jinja, white_space_around_tags) {
  expect_all({{"a\n  {% if x %}\n  b\n  {% endif %}\nc\n", "a\n  b\nc"},
              {"a  {%- if x -%}  b  {%- endif -%}  c", "abc"},
              {"  {{ x }}  \n{{- x }}", "  33"},
              {"a\n   {# note #}\nb", "a\nb"},
              {"a {#- note -#}  b", "ab"},
              {"  {%+ if x %}y{% endif +%}\nz", "  y\nz"},
              {"x {% raw %}{{ y }}{% endraw %}", "x {{ y }}"},
              {"x\n {%- raw -%} {% if %} {%- endraw -%} \n z", "x{% if %}z"},
              {"one\r\ntwo\rthree\r\n", "one\ntwo\nthree"},
              {"{{ {'a': {'b': 1}} }}", "{'a': {'b': 1}}"},
              {"{{ '}}' }}{{ \"%}\" }}", "}}%}"},
              {"{{ 'a' 'b' }}", "ab"},
              {"{% if x %}\n\n{% endif %}|", "\n|"}});
}

TEST(Jinja, the_date_is_the_one_given) {
  EXPECT_EQ(text_from("{{ strftime_now('%d %b %Y, %A %H:%M:%S%f%z') }}"),
            "18 Nov 2026, Wednesday 00:00:00000000");
  EXPECT_EQ(text_from("{{ strftime_now('') }}|{{ strftime_now('100%%') }}"), "|100%");
}

// Whose text it is, letter by letter: a user's as g, the template's as t.
std::string marks_of(std::string_view source) {
  const MarkedText text = rendered(source, R"({"s":" aB,c ","l":["x","y"],"d":{"k":"v"}})");
  std::string marks;
  for (size_t at = 0; at < text.bytes.size(); ++at) marks += text.is_given(at) ? 'g' : 't';
  return marks;
}

TEST(Jinja, texts_that_were_given_stay_marked_whatever_becomes_of_them) {
  EXPECT_EQ(marks_of("<{{ s }}>"), "tggggggt");
  EXPECT_EQ(marks_of("<{{ '(' + s | trim + ')' }}>"), "ttggggtt");
  EXPECT_EQ(marks_of("{{ s.strip().split(',') | join('--') }}"), "ggttg");
  EXPECT_EQ(marks_of("{{ s.strip() | upper }}{{ s[1] }}{{ s[::-1] }}"), "ggggggggggg");
  EXPECT_EQ(marks_of("{{ s.strip().replace('B', 'bbb') }}"), "gtttgg");
  EXPECT_EQ(marks_of("{{ l }}"), "ttgttttgtt");
  EXPECT_EQ(marks_of("{{ d | tojson }}"), "ttgttttgtt");
  EXPECT_EQ(marks_of("{% for k, v in d.items() %}{{ k }}={{ v }}{% endfor %}"), "gtg");
  EXPECT_EQ(marks_of("{{ '%s!' % l[0] }}{{ '{}?'.format(l[1]) }}{{ l | join }}"), "gtgtgg");
  EXPECT_EQ(marks_of("{% macro m(a) %}[{{ a }}]{% endmacro %}{{ m(l[0]) | e }}"), "tgt");
  EXPECT_EQ(marks_of("{% set t %}-{{ l[0] }}{% endset %}{{ t | indent(1, true) }}"), "ttg");
}

}  // namespace
}  // namespace headlight::text::jinja
