// The rules themselves: a small house that keeps them all, then one breach of each kind.
#include "tests/architecture/rules.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <ostream>
#include <string>

#include "tests/architecture/source.h"
#include "tests/base/temporary_folder.h"

namespace headlight::architecture {
namespace {

namespace fs = std::filesystem;
using Files = std::map<std::string, std::string>;

const Files kSmallHouse = {
    {"headlight/base/CMakeLists.txt", "headlight_module(base LIBRARIES Threads::Threads)\n"},
    {"headlight/base/base.h", "// Door.\n#pragma once\n#include \"headlight/base/error.h\"\n"},
    {"headlight/base/error.h", "// Errors.\n#pragma once\n"},
    {"headlight/tensor/CMakeLists.txt", "headlight_module(tensor DEPENDS base)\n"},
    {"headlight/tensor/tensor.h", "// Door.\n#pragma once\n#include \"headlight/base/base.h\"\n"},
    {"headlight/kernels/CMakeLists.txt",
     "headlight_module(kernels DEPENDS tensor LIBRARIES hwy)\n"},
    {"headlight/kernels/kernels.h", "// Door.\n#pragma once\n#include \"headlight/base/base.h\"\n"},
    {"headlight/kernels/simd/tile-inl.h",
     "// Tiles.\n#if defined(X) == defined(HWY_TARGET_TOGGLE)\n"},
    {"headlight/kernels/a.cpp",
     "// Sums; never calls abort() itself.\n#include \"headlight/kernels/simd/tile-inl.h\"\n"
     "const char* kText = \"printf(\";\nvoid f() { snprintf(nullptr, 1'0, R\"(exit()\"); }\n"
     "const char* kTemplate = \"nameXX"
     "XXXX\";\n"},
    {"headlight/headlight.h",
     "// All doors.\n#pragma once\n#include \"headlight/base/base.h\"\n"
     "#include \"headlight/infer/infer.h\"\n#include \"headlight/kernels/kernels.h\"\n"
     "#include \"headlight/tensor/tensor.h\"\n#include \"headlight/train/train.h\"\n"},
    {"headlight/train/train.h", "// Door.\n#pragma once\n"},
    {"headlight/infer/infer.h", "// Door.\n#pragma once\n"},
    {"apps/cli/main.cpp",
     "// Main.\n#include <cstdio>\n#include \"apps/cli/words.h\"\n"
     "#include \"apps/server/server.h\"\n"
     "#include \"headlight/tensor/tensor.h\"\nint main() { printf(\"\"); }\n"
     "bool f() { return x.dtype() == y.dtype() && help == \"gpt9 or others\"; }\n"},
    {"examples/a.cpp", "// All.\n#include \"headlight/headlight.h\"\n"},
    {"tests/kernels/tile_test.cpp", "// Test.\n#include \"headlight/kernels/simd/tile-inl.h\"\n"},
};

// Writes the files to a new folder and reads them back as the rules do.
Sources built(const Files& files) {
  const test::TemporaryFolder folder;
  const fs::path root = folder.path();
  for (const auto& [path, text] : files) {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  }
  return read_sources(root);
}

Sources with(const std::string& path, const std::string& text) {
  Files files = kSmallHouse;
  files[path] = text;
  return built(files);
}

Findings all_findings(const Sources& sources) {
  Findings all;
  for (const Findings& findings :
       {check_includes(sources), check_links(sources), check_sizes(sources, {}),
        check_openings(sources), check_words(sources), check_silence(sources), check_paths(sources),
        check_model_types(sources, {"gpt9"}), check_fine_steps(sources)}) {
    all.insert(all.end(), findings.begin(), findings.end());
  }
  return all;
}

std::string door_with(const std::string& lines) { return "// Here.\n#pragma once\n" + lines; }

struct Breach {
  std::string path;
  std::string text;
  std::string finding;
};

void PrintTo(const Breach& breach, std::ostream* out) { *out << breach.finding; }

class ABreach : public testing::TestWithParam<Breach> {};

TEST_P(ABreach, is_found_and_nothing_else) {
  const Breach& breach = GetParam();
  EXPECT_EQ(all_findings(with(breach.path, breach.text)), Findings{breach.finding});
}

INSTANTIATE_TEST_SUITE_P(
    Includes, ABreach,
    testing::Values(
        Breach{"headlight/kernels/b.cpp", door_with("#include \"headlight/base/error.h\"\n"),
               "headlight/kernels/b.cpp:3: headlight/base/error.h is not a door; include "
               "headlight/base/base.h"},
        Breach{"headlight/train/b.cpp", door_with("#include \"headlight/infer/infer.h\"\n"),
               "headlight/train/b.cpp:3: train may not include infer"},
        Breach{"headlight/base/b.cpp", door_with("#include \"apps/cli/words.h\"\n"),
               "headlight/base/b.cpp:3: base may not include apps/cli/words.h"},
        Breach{"headlight/base/c.cpp", door_with("#include \"tests/op_cases.h\"\n"),
               "headlight/base/c.cpp:3: base may not include tests/op_cases.h"},
        Breach{"apps/server/main.cpp", door_with("#include \"apps/cli/words.h\"\n"),
               "apps/server/main.cpp:3: apps/server may not include apps/cli/words.h"},
        Breach{"apps/cli/b.cpp", door_with("#include \"apps/server/http/reply.h\"\n"),
               "apps/cli/b.cpp:3: apps/cli may not include apps/server/http/reply.h"},
        Breach{"headlight/base/b.cpp", door_with("#include \"apps/server/server.h\"\n"),
               "headlight/base/b.cpp:3: base may not include apps/server/server.h"},
        Breach{"apps/cli/b.cpp", door_with("#include \"headlight/base/error.h\"\n"),
               "apps/cli/b.cpp:3: headlight/base/error.h is not a door; include "
               "headlight/base/base.h"},
        Breach{"examples/b.cpp", door_with("#include \"headlight/kernels/simd/tile-inl.h\"\n"),
               "examples/b.cpp:3: headlight/kernels/simd/tile-inl.h is for kernels and tests only"},
        Breach{"headlight/train/b.cpp", door_with("#include \"headlight/headlight.h\"\n"),
               "headlight/train/b.cpp:3: headlight/headlight.h is for programs; include the doors "
               "of modules"},
        Breach{"headlight/nn/nn.h", door_with(""),
               "headlight/headlight.h:1: does not include headlight/nn/nn.h"},
        Breach{"headlight/extras/b.h", door_with(""),
               "headlight/extras/b.h:1: extras is not in the order of modules"}));

INSTANTIATE_TEST_SUITE_P(
    Links, ABreach,
    testing::Values(
        Breach{"headlight/base/CMakeLists.txt", "headlight_module(base DEPENDS tensor)\n",
               "headlight/base/CMakeLists.txt:1: base may not depend on tensor"},
        Breach{
            "headlight/tensor/CMakeLists.txt", "headlight_module(tensor LIBRARIES base)\n",
            "headlight/tensor/CMakeLists.txt:1: tensor includes base and does not depend on it"}));

INSTANTIATE_TEST_SUITE_P(
    Texts, ABreach,
    testing::Values(Breach{"headlight/base/b.cpp", "#include <vector>\n",
                           "headlight/base/b.cpp:1: does not open with a comment on what is here"},
                    Breach{"headlight/base/b.h", "// Here.\n#include <vector>\n",
                           "headlight/base/b.h:1: has no #pragma once"},
                    Breach{"headlight/base/b.cpp",
                           "// Here.\nint a;\n// TO"
                           "DO: more\n",
                           "headlight/base/b.cpp:3: TO"
                           "DO marks unfinished work"},
                    Breach{"docs/a.md",
                           "# A\nFIX"
                           "ME\n",
                           "docs/a.md:2: FIX"
                           "ME marks unfinished work"},
                    Breach{"headlight/base/file_utils.h", door_with(""),
                           "headlight/base/file_utils.h:1: the name says nothing"},
                    Breach{"headlight/base/b.cpp", "// Here.\nclass TaskManager;\n",
                           "headlight/base/b.cpp:2: TaskManager says nothing"},
                    Breach{"headlight/base/b.cpp", "// Here.\nnamespace headlight::helpers {}\n",
                           "headlight/base/b.cpp:2: headlight::helpers says nothing"},
                    Breach{"headlight/base/b.cpp", "// Here.\nvoid f() { std::cout << 1; }\n",
                           "headlight/base/b.cpp:2: std::cout has no place in the engine"},
                    Breach{"headlight/base/b.cpp", "// Here.\nvoid f() { printf(\"\"); }\n",
                           "headlight/base/b.cpp:2: printf( has no place in the engine"},
                    Breach{"headlight/base/b.cpp", "// Here.\nvoid f() { std::exit(1); }\n",
                           "headlight/base/b.cpp:2: exit( has no place in the engine"},
                    Breach{"headlight/base/b.cpp", "// Here.\nvoid f() { abort(); }\n",
                           "headlight/base/b.cpp:2: abort( has no place in the engine"},
                    Breach{"tests/a/b.cpp",
                           "// Here.\nconst char* kPath = \"/t"
                           "mp/x\";\n",
                           "tests/a/b.cpp:2: /t"
                           "mp/ is a path of one machine"},
                    Breach{"run",
                           "#!/bin/sh\ncd /ho"
                           "me/me\n",
                           "run:2: /ho"
                           "me/ is a path of one machine"}));

INSTANTIATE_TEST_SUITE_P(
    ModelTypes, ABreach,
    testing::Values(
        Breach{"headlight/narrate/b.cpp", "// Here.\nauto f() { return at(\"x.0.row_max\"); }\n",
               "headlight/narrate/b.cpp:2: names a step inside an operation, which only "
               "explain/operations knows"},
        Breach{"apps/cli/b.cpp", "// Here.\nbool f() { return kind ==\n \"gpt9\"; }\n",
               "apps/cli/b.cpp:3: \"gpt9\" names a type of models; ask for a capability"},
        Breach{"apps/cli/b.cpp", "// Here.\nbool f() { return model->type() != kType; }\n",
               "apps/cli/b.cpp:2: compares type(); ask for a capability"},
        Breach{"headlight/train/b.cpp", "// Here.\nbool f() { return kType == model.type(); }\n",
               "headlight/train/b.cpp:2: compares type(); ask for a capability"}));

TEST(Rules, find_an_include_that_points_upwards_and_the_link_that_is_missing) {
  EXPECT_EQ(all_findings(with("headlight/base/b.cpp",
                              door_with("#include \"headlight/tensor/tensor.h\"\n"))),
            (Findings{"headlight/base/b.cpp:3: base may not include tensor",
                      "headlight/base/CMakeLists.txt:1: base includes tensor and does not depend "
                      "on it"}));
}

TEST(Rules, find_nothing_in_a_house_that_keeps_them) {
  EXPECT_EQ(all_findings(built(kSmallHouse)), Findings{});
}

std::string of_lines(int count) {
  std::string text = "// Here.\n#pragma once\n";
  for (int line = 2; line < count; ++line) text += "\n";
  return text;
}

TEST(Sizes, are_500_lines_for_a_file_and_250_for_a_door) {
  EXPECT_EQ(check_sizes(with("headlight/base/b.cpp", of_lines(500)), {}), Findings{});
  EXPECT_EQ(check_sizes(with("headlight/base/b.cpp", of_lines(501)), {}),
            Findings{"headlight/base/b.cpp:501: more than 500 lines"});
  EXPECT_EQ(check_sizes(with("headlight/base/base.h", of_lines(250)), {}), Findings{});
  EXPECT_EQ(check_sizes(with("headlight/base/base.h", of_lines(251)), {}),
            Findings{"headlight/base/base.h:251: more than 250 lines"});
}

TEST(Sizes, have_named_exceptions_that_must_be_needed) {
  const std::vector<Exception> exceptions = {{"headlight/base/b.cpp", "a table"}};
  EXPECT_EQ(check_sizes(with("headlight/base/b.cpp", of_lines(501)), exceptions), Findings{});
  EXPECT_EQ(check_sizes(with("headlight/base/b.cpp", of_lines(9)), exceptions),
            Findings{"headlight/base/b.cpp:1: is an exception from the sizes and needs none"});
}

TEST(Sizes, of_a_program_are_66_sources_and_15_percent_of_the_lines) {
  Sources sources = {{"headlight/base/base.h", of_lines(85)}, {"apps/cli/main.cpp", of_lines(15)}};
  EXPECT_EQ(check_programs(sources), Findings{});
  sources.back().text = of_lines(16);
  EXPECT_EQ(check_programs(sources), Findings{"apps/cli:1: has 16 of 101 lines, more than 15 %"});
  sources = {{"headlight/base/base.h", of_lines(5000)}};
  for (int i = 0; i < 66; ++i)
    sources.push_back({"apps/cli/a/" + std::to_string(i) + ".cpp", of_lines(3)});
  EXPECT_EQ(check_programs(sources), Findings{});
  sources.push_back({"apps/cli/b.h", of_lines(3)});
  EXPECT_EQ(check_programs(sources), Findings{"apps/cli:1: has 67 sources, more than 66"});
  // The rooms of the server are counted by themselves.
  sources.pop_back();
  for (int i = 0; i < 132; ++i) {
    const std::string room = i % 2 == 0 ? "http/" : "studio/";
    sources.push_back({"apps/server/" + room + std::to_string(i) + ".cpp", of_lines(3)});
  }
  EXPECT_EQ(check_programs(sources), Findings{});
  sources.push_back({"apps/server/http/b.h", of_lines(3)});
  EXPECT_EQ(check_programs(sources), Findings{"apps/server/http:1: has 67 sources, more than 66"});
}

TEST(Code, has_no_comments_and_no_literals) {
  EXPECT_EQ(code_of("a // b\nc"), "a     \nc");
  EXPECT_EQ(code_of("a /* b\n */ c"), "a     \n    c");
  EXPECT_EQ(code_of(R"(f("a\"b", 'c', '\'') + 1'000)"), "f(      ,    ,     ) + 1'000");
  EXPECT_EQ(code_of("R\"x(a\")\")x\" b"), "            b");
}

}  // namespace
}  // namespace headlight::architecture
