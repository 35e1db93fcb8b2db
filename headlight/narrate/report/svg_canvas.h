// SvgCanvas: lines, areas and texts of one picture. Inks are given as attributes, so that any
// program shows them, and as classes, so that a page can choose others.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headlight::narrate {

struct SvgPoint {
  double x = 0;
  double y = 0;
};
struct SvgBox {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
};

enum class SvgInk { text, soft, line, paper, plus, minus, beam, series };

struct SvgTextOptions {
  std::string_view anchor = "start";
  double size = 11;
  bool bold = false;
  SvgInk ink = SvgInk::text;
  double turned = 0;  // degrees
};
struct SvgStroke {
  SvgInk ink = SvgInk::line;
  double width = 1;
  size_t series = 0;  // of SvgInk::series: each has a colour and dashes of its own
  bool dashed = true;
};

class SvgCanvas {
 public:
  void fill(const SvgBox& box, SvgInk ink, double opacity = 1);
  void frame(const SvgBox& box);
  void line(SvgPoint from, SvgPoint to, const SvgStroke& stroke = {});
  void lines(const std::vector<SvgPoint>& points, const SvgStroke& stroke);
  void area(const std::vector<SvgPoint>& points, size_t series);
  // A circle, a square, a triangle or a diamond: another for each series.
  void mark(SvgPoint at, size_t series);
  void text(SvgPoint at, std::string_view text, const SvgTextOptions& options = {});
  // Says what lies under the pointer; for the shape that is put next.
  void title(std::string_view text) { title_ = text; }

  const std::string& body() const { return body_; }

  // About how wide a text is: fonts differ from place to place.
  static double text_width(std::string_view text, double size = 11);

 private:
  void put(std::string element);

  std::string body_;
  std::string title_;
};

// As text or an attribute of XML.
std::string xml_text(std::string_view text);
// With one decimal at most.
std::string svg_number(double value);
// "fill", "stroke": the colour of an ink on white paper.
std::string svg_color(SvgInk ink, size_t series = 0);

}  // namespace headlight::narrate
