// Lines with bands, and points against a diagonal.
#include <algorithm>
#include <cmath>

#include "headlight/narrate/report/report_svg.h"

namespace headlight::narrate {
namespace {

constexpr double kChartWide = 400, kChartHigh = 260;
constexpr double kChartLeft = 64, kChartTop = 30;
constexpr double kLegendRow = 17;

struct Extent {
  double low = INFINITY;
  double high = -INFINITY;
  bool whole = true;

  void add(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
    whole = whole && value == std::floor(value);
  }
  Ticks ticks(bool may_be_whole = false) const {
    return low <= high ? ticks_of(low, high, may_be_whole && whole) : ticks_of(0, 1);
  }
};

struct ChartTexts {
  const ReportText& title;
  const ReportText& x_axis;
  const ReportText& y_axis;
};

// A frame with ticks and titles, and where numbers lie in it.
class Chart {
 public:
  Chart(const ChartTexts& texts, Ticks x, Ticks y, const Catalogue& catalogue)
      : x_(std::move(x)), y_(std::move(y)), catalogue_(catalogue) {
    title_ = texts.title.in(catalogue);
    canvas_.text({6, 17}, title_, {.size = 13, .bold = true});
    add_ticks();
    canvas_.frame({kChartLeft, kChartTop, kChartWide, kChartHigh});
    canvas_.text({kChartLeft + kChartWide / 2, kChartTop + kChartHigh + 34},
                 texts.x_axis.in(catalogue), {.anchor = "middle", .ink = SvgInk::soft});
    canvas_.text({13, kChartTop + kChartHigh / 2}, texts.y_axis.in(catalogue),
                 {.anchor = "middle", .ink = SvgInk::soft, .turned = -90});
  }

  SvgCanvas& canvas() { return canvas_; }
  SvgPoint at(double x, double y) const {
    return {kChartLeft + kChartWide * (x - x_.low) / (x_.high - x_.low),
            kChartTop + kChartHigh * (1 - (y - y_.low) / (y_.high - y_.low))};
  }

  // Below the frame, a line each.
  void explain_line(size_t series, const ReportText& label, bool is_line) {
    const SvgPoint from{kChartLeft, legend_y()};
    if (is_line) canvas_.line(from, {from.x + 26, from.y}, {SvgInk::series, 1.8, series});
    canvas_.mark({from.x + 13, from.y}, series);
    explain(label);
  }
  void explain_band(size_t series, const ReportText& label) {
    const double y = legend_y();
    canvas_.area({{kChartLeft, y - 5},
                  {kChartLeft + 26, y - 5},
                  {kChartLeft + 26, y + 5},
                  {kChartLeft, y + 5}},
                 series);
    explain(label);
  }
  void explain_diagonal(const ReportText& label) {
    const double y = legend_y();
    canvas_.line({kChartLeft, y}, {kChartLeft + 26, y}, {.ink = SvgInk::soft});
    explain(label);
  }

  SvgPicture drawn() const {
    return {std::max(widest_, kChartLeft + kChartWide + 16), legend_y(), canvas_.body()};
  }

 private:
  double legend_y() const {
    return kChartTop + kChartHigh + 54 + kLegendRow * static_cast<double>(explained_);
  }
  void explain(const ReportText& label) {
    const std::string text = label.in(catalogue_);
    canvas_.text({kChartLeft + 34, legend_y() + 4}, text);
    widest_ = std::max(widest_, kChartLeft + 40 + SvgCanvas::text_width(text));
    ++explained_;
  }
  void add_ticks() {
    for (const double tick : x_.at) {
      const SvgPoint point = at(tick, y_.low);
      canvas_.line(point, {point.x, kChartTop}, {.width = 0.5});
      canvas_.text({point.x, point.y + 15}, x_.text(catalogue_, tick),
                   {.anchor = "middle", .size = 10, .ink = SvgInk::soft});
    }
    for (const double tick : y_.at) {
      const SvgPoint point = at(x_.low, tick);
      canvas_.line(point, {kChartLeft + kChartWide, point.y}, {.width = 0.5});
      canvas_.text({point.x - 6, point.y + 4}, y_.text(catalogue_, tick),
                   {.anchor = "end", .size = 10, .ink = SvgInk::soft});
    }
    widest_ = SvgCanvas::text_width(title_, 14) + 12;
  }

  Ticks x_, y_;
  const Catalogue& catalogue_;
  SvgCanvas canvas_;
  std::string title_;
  size_t explained_ = 0;
  double widest_ = 0;
};

void add_band(Chart& chart, const LinePicture::Band& band, size_t series) {
  std::vector<SvgPoint> around;
  for (size_t i = 0; i < band.x.size(); ++i)
    around.push_back(chart.at(band.x[i], band.range[i].high));
  for (size_t i = band.x.size(); i-- > 0;) around.push_back(chart.at(band.x[i], band.range[i].low));
  chart.canvas().area(around, series);
}

void add_line(Chart& chart, const LinePicture::Line& line, size_t series) {
  std::vector<SvgPoint> points;
  for (const LinePicture::Point& point : line.points) {
    if (std::isfinite(point.x) && std::isfinite(point.y))
      points.push_back(chart.at(point.x, point.y));
  }
  if (points.size() > 1) chart.canvas().lines(points, {SvgInk::series, 1.8, series});
  for (const SvgPoint& point : points) chart.canvas().mark(point, series);
}

}  // namespace

SvgPicture draw_picture(const LinePicture& picture, const Catalogue& catalogue) {
  Extent x, y;
  for (const LinePicture::Line& line : picture.lines) {
    for (const LinePicture::Point& point : line.points) {
      x.add(point.x);
      y.add(point.y);
    }
  }
  for (const LinePicture::Band& band : picture.bands) {
    for (const double value : band.x) x.add(value);
    for (const ReportRange& range : band.range) {
      y.add(range.low);
      y.add(range.high);
    }
  }
  if (picture.y_range) {
    y.add(picture.y_range->low);
    y.add(picture.y_range->high);
  }
  Chart chart({picture.title, picture.x_axis, picture.y_axis}, x.ticks(true), y.ticks(), catalogue);
  // Bands of no line have the inks after those of lines.
  const auto ink_of_band = [&](size_t i) {
    return picture.bands[i].line.value_or(picture.lines.size() + i);
  };
  for (size_t i = 0; i < picture.bands.size(); ++i)
    add_band(chart, picture.bands[i], ink_of_band(i));
  for (size_t i = 0; i < picture.lines.size(); ++i) add_line(chart, picture.lines[i], i);
  for (size_t i = 0; i < picture.lines.size(); ++i)
    chart.explain_line(i, picture.lines[i].label, true);
  for (size_t i = 0; i < picture.bands.size(); ++i)
    chart.explain_band(ink_of_band(i), picture.bands[i].label);
  return chart.drawn();
}

SvgPicture draw_picture(const ScatterPicture& picture, const Catalogue& catalogue) {
  Extent x, y;
  for (const ScatterPicture::Group& group : picture.groups) {
    for (const ScatterPicture::Point& point : group.points) {
      x.add(point.x);
      y.add(point.y);
      if (!point.range) continue;
      y.add(point.range->low);
      y.add(point.range->high);
    }
  }
  const bool has_diagonal = !picture.diagonal.empty();
  if (has_diagonal) {  // both axes alike
    x.add(y.low);
    x.add(y.high);
    y = x;
  }
  Chart chart({picture.title, picture.x_axis, picture.y_axis}, x.ticks(), y.ticks(), catalogue);
  SvgCanvas& canvas = chart.canvas();
  if (has_diagonal) {
    const Ticks ticks = x.ticks();
    canvas.line(chart.at(ticks.low, ticks.low), chart.at(ticks.high, ticks.high),
                {.ink = SvgInk::soft});
  }
  for (size_t i = 0; i < picture.groups.size(); ++i) {
    for (const ScatterPicture::Point& point : picture.groups[i].points) {
      if (!std::isfinite(point.x) || !std::isfinite(point.y)) continue;
      if (point.range) {
        canvas.line(chart.at(point.x, point.range->low), chart.at(point.x, point.range->high),
                    {SvgInk::series, 1, i, false});
      }
      if (!point.label.empty()) canvas.title(point.label);
      canvas.mark(chart.at(point.x, point.y), i);
    }
    chart.explain_line(i, picture.groups[i].label, false);
  }
  if (has_diagonal) chart.explain_diagonal(picture.diagonal);
  return chart.drawn();
}

}  // namespace headlight::narrate
