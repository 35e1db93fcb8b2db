// Elements of SVG. On grey paper series differ by dashes and marks, and shades by their darkness.
#include "headlight/narrate/report/svg_canvas.h"

#include <array>
#include <cmath>

#include "headlight/io/io.h"
#include "headlight/text/text.h"

namespace headlight::narrate {
namespace {

constexpr std::array<std::string_view, 6> kSeriesColors = {"#1468c4", "#b85c00", "#007a58",
                                                           "#7652ce", "#be3a6e", "#4a4f5c"};
constexpr std::array<std::string_view, 6> kSeriesDashes = {"",        "7 3", "2 3",
                                                           "9 3 2 3", "5 5", "1 2"};

std::string_view ink_name(SvgInk ink) {
  constexpr std::array<std::string_view, 8> kNames = {"text", "soft",  "line", "paper",
                                                      "plus", "minus", "beam", "series"};
  return kNames[static_cast<size_t>(ink)];
}

std::string ink_class(SvgInk ink, size_t series) {
  std::string name(ink_name(ink));
  return ink == SvgInk::series ? name + std::to_string(series % kSeriesColors.size()) : name;
}

std::string attribute(std::string_view name, double value) {
  return " " + std::string(name) + "=\"" + svg_number(value) + "\"";
}
std::string attribute(std::string_view name, std::string_view value) {
  return " " + std::string(name) + "=\"" + xml_text(value) + "\"";
}

std::string path_of(const std::vector<SvgPoint>& points) {
  std::string path;
  for (const SvgPoint& point : points)
    path += (path.empty() ? "M" : " L") + svg_number(point.x) + " " + svg_number(point.y);
  return path;
}

std::string stroke_attributes(const SvgStroke& stroke) {
  std::string text = attribute("class", "stroke-" + ink_class(stroke.ink, stroke.series)) +
                     attribute("stroke", svg_color(stroke.ink, stroke.series)) +
                     attribute("stroke-width", stroke.width) + attribute("fill", "none");
  const std::string_view dashes = kSeriesDashes[stroke.series % kSeriesDashes.size()];
  if (stroke.ink == SvgInk::series && stroke.dashed && !dashes.empty())
    text += attribute("stroke-dasharray", dashes);
  return text;
}

std::string fill_attributes(SvgInk ink, size_t series = 0) {
  return attribute("class", "fill-" + ink_class(ink, series)) +
         attribute("fill", svg_color(ink, series));
}

}  // namespace

std::string svg_color(SvgInk ink, size_t series) {
  constexpr std::array<std::string_view, 7> kColors = {"#20242e", "#626876", "#c9c5bb", "#ffffff",
                                                       "#1468c4", "#b85c00", "#e0a020"};
  return std::string(ink == SvgInk::series ? kSeriesColors[series % kSeriesColors.size()]
                                           : kColors[static_cast<size_t>(ink)]);
}

std::string svg_number(double value) {
  constexpr double kTenths = 10;
  const double rounded = std::round(value * kTenths) / kTenths;
  return io::number_text(rounded == 0 ? 0.0 : rounded);
}

std::string xml_text(std::string_view text) {
  const std::string plain = text::printable(text);
  std::string escaped;
  for (size_t at = 0; at < plain.size();) {
    const text::CodePoint point = text::code_point_at(plain, at);
    switch (point.value) {
      case U'&':
        escaped += "&amp;";
        break;
      case U'<':
        escaped += "&lt;";
        break;
      case U'>':
        escaped += "&gt;";
        break;
      case U'"':
        escaped += "&quot;";
        break;
      case U'\'':
        escaped += "&#39;";
        break;
      case 0xFFFE:  // these two no document may have
      case 0xFFFF:
        escaped += "\xEF\xBF\xBD";
        break;
      default:
        escaped.append(plain, at, point.length);
    }
    at += point.length;
  }
  return escaped;
}

double SvgCanvas::text_width(std::string_view text, double size) {
  constexpr double kColumn = 0.58;
  return kColumn * size * static_cast<double>(text::columns(text::printable(text)));
}

void SvgCanvas::put(std::string element) {
  if (!title_.empty()) {
    const std::string name = element.substr(1, element.find(' ') - 1);
    element.replace(element.size() - 2, 2,
                    "><title>" + xml_text(title_) + "</title></" + name + ">");
    title_.clear();
  }
  body_ += element + "\n";
}

void SvgCanvas::fill(const SvgBox& box, SvgInk ink, double opacity) {
  constexpr double kHundredths = 100;
  const double rounded = std::round(opacity * kHundredths) / kHundredths;
  put("<rect" + attribute("x", box.x) + attribute("y", box.y) + attribute("width", box.width) +
      attribute("height", box.height) + fill_attributes(ink) +
      (rounded < 1 ? " fill-opacity=\"" + io::number_text(rounded) + "\"" : "") + "/>");
}

void SvgCanvas::frame(const SvgBox& box) {
  put("<rect" + attribute("x", box.x) + attribute("y", box.y) + attribute("width", box.width) +
      attribute("height", box.height) + stroke_attributes({}) + "/>");
}

void SvgCanvas::line(SvgPoint from, SvgPoint to, const SvgStroke& stroke) {
  put("<line" + attribute("x1", from.x) + attribute("y1", from.y) + attribute("x2", to.x) +
      attribute("y2", to.y) + stroke_attributes(stroke) + "/>");
}

void SvgCanvas::lines(const std::vector<SvgPoint>& points, const SvgStroke& stroke) {
  put("<path" + attribute("d", path_of(points)) + stroke_attributes(stroke) + "/>");
}

void SvgCanvas::area(const std::vector<SvgPoint>& points, size_t series) {
  put("<path" + attribute("d", path_of(points) + " Z") + fill_attributes(SvgInk::series, series) +
      " fill-opacity=\"0.18\"/>");
}

void SvgCanvas::mark(SvgPoint at, size_t series) {
  constexpr double kRadius = 3;
  const std::string inks = fill_attributes(SvgInk::series, series);
  const auto shape = [&](const std::vector<SvgPoint>& corners) {
    put("<path" + attribute("d", path_of(corners) + " Z") + inks + "/>");
  };
  const double r = kRadius;
  switch (series % 4) {
    case 0:
      put("<circle" + attribute("cx", at.x) + attribute("cy", at.y) + attribute("r", r) + inks +
          "/>");
      break;
    case 1:
      shape(
          {{at.x - r, at.y - r}, {at.x + r, at.y - r}, {at.x + r, at.y + r}, {at.x - r, at.y + r}});
      break;
    case 2:
      shape({{at.x, at.y - r - 1}, {at.x + r + 1, at.y + r}, {at.x - r - 1, at.y + r}});
      break;
    default:
      shape(
          {{at.x, at.y - r - 1}, {at.x + r + 1, at.y}, {at.x, at.y + r + 1}, {at.x - r - 1, at.y}});
  }
}

void SvgCanvas::text(SvgPoint at, std::string_view text, const SvgTextOptions& options) {
  std::string element = "<text" + attribute("x", at.x) + attribute("y", at.y) +
                        attribute("font-size", options.size) + fill_attributes(options.ink);
  if (options.anchor != "start") element += attribute("text-anchor", options.anchor);
  if (options.bold) element += attribute("font-weight", "600");
  if (options.turned != 0) {
    element += attribute("transform", "rotate(" + svg_number(options.turned) + " " +
                                          svg_number(at.x) + " " + svg_number(at.y) + ")");
  }
  body_ += element + ">" + xml_text(text) + "</text>\n";
}

}  // namespace headlight::narrate
