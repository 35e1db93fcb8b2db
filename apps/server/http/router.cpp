// Patterns of paths: fixed text and parameters, segment by segment.
#include "apps/server/http/router.h"

#include <algorithm>

namespace headlight::server {

// A part of a segment: fixed text, or the name of a parameter.
struct PatternPart {
  bool is_parameter = false;
  std::string text;
};
using PatternSegment = std::vector<PatternPart>;

namespace {

PatternSegment parts_of(std::string_view text) {
  PatternSegment parts;
  while (!text.empty()) {
    const bool is_parameter = text.front() == '{';
    const size_t end = std::min(text.find(is_parameter ? '}' : '{'), text.size());
    parts.push_back({is_parameter,
                     std::string(text.substr(is_parameter ? 1 : 0, is_parameter ? end - 1 : end))});
    text.remove_prefix(std::min(is_parameter ? end + 1 : end, text.size()));
  }
  return parts;
}

std::vector<std::string_view> split_path(std::string_view path) {
  std::vector<std::string_view> segments;
  for (size_t begin = 1; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    segments.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return segments;
}

// Reads the last part first: of "{trace}.{format}" the format is what follows the last point.
bool fits(const PatternSegment& segment, std::string_view text,
          std::map<std::string, std::string>& parameters) {
  for (size_t i = segment.size(); i-- > 0;) {
    const PatternPart& part = segment[i];
    if (!part.is_parameter) {
      if (!text.ends_with(part.text)) return false;
      text.remove_suffix(part.text.size());
      continue;
    }
    size_t begin = 0;
    if (i > 0) {
      const std::string& before = segment[i - 1].text;
      const size_t found = text.rfind(before);
      if (found == std::string_view::npos) return false;
      begin = found + before.size();
    }
    if (begin >= text.size()) return false;
    parameters[part.text] = text.substr(begin);
    text = text.substr(0, begin);
  }
  return text.empty();
}

}  // namespace

struct Router::Entry {
  Route route;
  std::vector<PatternSegment> segments = {};
  size_t fixed = 0;  // letters of fixed text
};

void Router::add(std::string method, std::string pattern, Handler handler, RouteOptions options) {
  Entry entry{
      .route = {std::move(method), std::move(pattern), std::move(handler), std::move(options)}};
  for (const std::string_view text : split_path(entry.route.pattern)) {
    entry.segments.push_back(parts_of(text));
    for (const PatternPart& part : entry.segments.back()) {
      if (!part.is_parameter) entry.fixed += part.text.size();
    }
  }
  entries_.push_back(std::make_shared<const Entry>(std::move(entry)));
}

Router::Match Router::find(std::string_view method,
                           const std::vector<std::string>& segments) const {
  Match match;
  size_t fixed = 0;
  for (const std::shared_ptr<const Entry>& entry : entries_) {
    if (entry->segments.size() != segments.size()) continue;
    std::map<std::string, std::string> parameters;
    bool all = true;
    for (size_t i = 0; i < segments.size() && all; ++i) {
      all = fits(entry->segments[i], segments[i], parameters);
    }
    if (!all) continue;
    const std::string& own = entry->route.method;
    if (std::ranges::find(match.allowed, own) == match.allowed.end()) match.allowed.push_back(own);
    const bool takes = own == method || (method == "HEAD" && own == "GET");
    if (!takes || (match.route != nullptr && entry->fixed <= fixed)) continue;
    match.route = &entry->route;
    match.parameters = std::move(parameters);
    fixed = entry->fixed;
  }
  return match;
}

}  // namespace headlight::server
