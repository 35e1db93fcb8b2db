// Pictures of reports as SVG, each by itself and all in one drawing.
#pragma once

#include <string>
#include <vector>

#include "headlight/narrate/report/report.h"
#include "headlight/narrate/report/svg_canvas.h"

namespace headlight::narrate {

struct SvgPicture {
  double width = 0;
  double height = 0;
  std::string body;  // elements
};

SvgPicture draw_picture(const MatrixPicture& picture, const Catalogue& catalogue);
SvgPicture draw_picture(const BarPicture& picture, const Catalogue& catalogue);
SvgPicture draw_picture(const LinePicture& picture, const Catalogue& catalogue);
SvgPicture draw_picture(const ScatterPicture& picture, const Catalogue& catalogue);
SvgPicture draw_picture(const ReportPicture& picture, const Catalogue& catalogue);

// A whole document of one or several pictures, beside each other as far as there is room.
std::string svg_document(const std::vector<SvgPicture>& pictures, const std::string& title,
                         const std::string& description);

// Numbers that are easily read, from at most `low` to at least `high`.
struct Ticks {
  double low = 0;
  double high = 1;
  std::vector<double> at = {};
  int decimals = 0;  // that they need

  std::string text(const Catalogue& catalogue, double tick) const;
};
// `whole`: nothing lies between whole numbers.
Ticks ticks_of(double low, double high, bool whole = false);

}  // namespace headlight::narrate
