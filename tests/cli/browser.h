// Pages opened in a browser, with a script of the test inside.
#pragma once

#include <string>

#include "tests/base/temporary_folder.h"

namespace headlight::test {

// Tests of pages skip where it is not installed.
bool has_browser();

struct WindowSize {
  int width = 1280;
  int height = 800;
};

// The text of a file of tests/cli, such as "page_check.js".
std::string test_script(const std::string& name);

// Opens the page with the script at its end in a window of this size, without a network, and gives
// what the script tells by report(text); or what went wrong. Nothing may be said on the console.
std::string told_in_browser(const TemporaryFolder& folder, const std::string& page,
                            const std::string& script, WindowSize screen = {});

}  // namespace headlight::test
