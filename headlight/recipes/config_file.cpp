// A reader for flat TOML.
#include "headlight/recipes/config_file.h"

#include <algorithm>
#include <set>

#include "headlight/io/io.h"
#include "headlight/recipes/given_values.h"
#include "headlight/text/text.h"

namespace headlight::recipes {
namespace {

using base::Error;
using base::ErrorKind;

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

class Line {
 public:
  Line(const std::string& path, int64_t number) : path_(path), number_(number) {}

  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ErrorKind::bad_input, path_, "line " + std::to_string(number_), why);
  }

  // The value at the start of `text`; only a comment may follow it.
  std::string value(std::string_view text) const {
    if (text.empty()) refuse("has no value after =");
    std::string result;
    std::string_view rest;
    if (text[0] == '"' || text[0] == '\'') {
      const size_t end = text.find(text[0], 1);
      if (end == std::string_view::npos) refuse("has a quote that does not end");
      result = text.substr(1, end - 1);
      if (text[0] == '"' && result.find('\\') != std::string::npos)
        refuse("has an escape in double quotes; single quotes take \\ as it is");
      rest = trimmed(text.substr(end + 1));
    } else {
      const size_t end = std::min(text.find('#'), text.size());
      result = trimmed(text.substr(0, end));
      if (result.find_first_of("[]{}\"' \t") != std::string::npos)
        refuse(io::in_quotes(result) + " is not a number, true, false or a text in quotes");
      rest = text.substr(end);
    }
    if (!rest.empty() && rest[0] != '#') refuse(io::in_quotes(rest) + " follows the value");
    return result;
  }

 private:
  const std::string& path_;
  int64_t number_;
};

// These files have no other encodings, unlike the texts that are trained on.
std::string read_utf8(base::FileSystem& files, const std::string& path) {
  std::string bytes = base::read_all(*base::open_input(files, path), uint64_t{10} << 20);
  const size_t valid = io::valid_utf8_length(bytes);
  if (valid == bytes.size()) return text::to_utf8(std::move(bytes), path);
  throw Error(
      ErrorKind::bad_input, "configuration", path,
      "not UTF-8 at byte " + std::to_string(valid) + "; a file of lines key = value is needed");
}

}  // namespace

std::vector<ConfigEntry> read_config_file(base::FileSystem& files, const std::string& path) {
  const std::string text = read_utf8(files, path);
  std::vector<ConfigEntry> entries;
  std::set<std::string> seen;
  int64_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = trimmed(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
    const Line at(path, ++number);
    if (line.empty() || line[0] == '#') continue;
    if (line[0] == '[') at.refuse("is a section; only lines key = value are read");
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos) at.refuse("is not of the form key = value");
    const std::string key = key_of(trimmed(line.substr(0, equals)));
    if (!seen.insert(key).second) at.refuse(key + " is given twice");
    entries.push_back({key, at.value(trimmed(line.substr(equals + 1))), number});
  }
  return entries;
}

}  // namespace headlight::recipes
