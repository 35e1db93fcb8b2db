// The page stands in a frame, because a window cannot be made as narrow as a phone.
#include "tests/cli/browser.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "tests/places.h"

namespace headlight::test {
namespace {

constexpr std::string_view kReport =
    "function report(text) { parent.postMessage(String(text), '*'); }\n"
    "addEventListener('error', (event) => report('error: ' + event.message));\n"
    "Object.assign(globalThis, headlight);\n";

std::string frame_around(const std::string& path, WindowSize screen) {
  return "<!doctype html><meta charset=utf-8><style>body{margin:0}iframe{border:0}</style>"
         "<script>addEventListener('message', (event) => {"
         "const told = document.createElement('pre'); told.id = 'told';"
         "told.textContent = event.data; document.body.append(told); });</script>"
         "<body><iframe style='width:" +
         std::to_string(screen.width) + "px;height:" + std::to_string(screen.height) +
         "px' src='file://" + path + "'></iframe></body>";
}

std::string unescaped(std::string text) {
  for (const auto& [written, meant] : {std::pair<std::string_view, std::string_view>{"&lt;", "<"},
                                       {"&gt;", ">"},
                                       {"&amp;", "&"}}) {
    for (size_t at = text.find(written); at != text.npos; at = text.find(written, at + 1)) {
      text.replace(at, written.size(), meant);
    }
  }
  return text;
}

}  // namespace

bool has_browser() { return std::system("command -v chromium > /dev/null") == 0; }

std::string test_script(const std::string& name) {
  std::ifstream file(tests::source_folder() + "/tests/cli/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string told_in_browser(const TemporaryFolder& folder, const std::string& page,
                            const std::string& script, WindowSize screen) {
  const size_t end = page.rfind("</body>");
  const std::string inside =
      folder.put("checked.html", page.substr(0, end) + "<script>" + std::string(kReport) + script +
                                     "</script>" + page.substr(end));
  const std::string outside = folder.put("frame.html", frame_around(inside, screen));
  const std::string command =
      "timeout 300 chromium --headless --no-sandbox --allow-file-access-from-files --disable-gpu "
      "--enable-logging=stderr --disable-ipc-flooding-protection"
      " --host-resolver-rules='MAP * ~NOTFOUND' --window-size=1400,1000 --user-data-dir='" +
      folder / "profile" + "' --virtual-time-budget=100000 --dump-dom 'file://" + outside +
      "' > '" + folder / "seen" + "' 2> '" + folder / "said" + "'";
  EXPECT_EQ(std::system(command.c_str()), 0) << folder.get("said");
  EXPECT_EQ(folder.get("said").find("CONSOLE"), std::string::npos) << folder.get("said");
  const std::string seen = folder.get("seen");
  constexpr std::string_view kTold = "<pre id=\"told\">";
  const size_t begin = seen.find(kTold);
  if (begin == std::string::npos) return "the script did not end";
  const size_t from = begin + kTold.size();
  return unescaped(seen.substr(from, seen.find("</pre>", from) - from));
}

}  // namespace headlight::test
