// Shaded cells and bars, and the drawing around all pictures.
#include "headlight/narrate/report/report_svg.h"

#include <algorithm>
#include <cmath>

#include "headlight/narrate/report/report_numbers.h"

namespace headlight::narrate {
namespace {

constexpr double kTitleHeight = 26;
constexpr double kTextHeight = 11;
constexpr double kSvgGap = 6;
constexpr int64_t kLongestSvgLabel = 24;  // columns
constexpr double kWidestDrawing = 980;    // two charts beside each other

std::string svg_label(const ReportText& text, const Catalogue& catalogue) {
  return cut_to(text.in(catalogue), kLongestSvgLabel);
}

double widest_label(const std::vector<ReportText>& labels, const Catalogue& catalogue) {
  double width = 0;
  for (const ReportText& label : labels)
    width = std::max(width, SvgCanvas::text_width(svg_label(label, catalogue)));
  return width;
}

// A matrix with the sizes that its texts ask for.
class MatrixDrawer {
 public:
  MatrixDrawer(const MatrixPicture& picture, const Catalogue& catalogue)
      : picture_(picture), catalogue_(catalogue) {
    std::vector<double> numbers;
    for (const auto& value : picture.values) {
      if (!value) continue;
      numbers.push_back(*value);
      largest_ = std::max(largest_, std::fabs(*value));
      has_minus_ = has_minus_ || *value < 0;
    }
    format_ = report_format(numbers);
    shows_numbers_ = picture.columns.size() <= kMostNumbered;
    double wide = 0;
    for (const double number : numbers)
      wide = std::max(wide, SvgCanvas::text_width(format_.text(catalogue, number), kNumberSize));
    cell_width_ = shows_numbers_ ? std::max(kLeastCell, wide + kSvgGap) : kSmallCell;
    cell_height_ = shows_numbers_ ? kLeastCell : kSmallCell;
    turns_columns_ = widest_label(picture.columns, catalogue) > cell_width_;
    left_ = kTextHeight + 2 * kSvgGap + widest_label(picture.rows, catalogue);
    top_ = kTitleHeight + kTextHeight + kSvgGap +
           (turns_columns_ ? widest_label(picture.columns, catalogue) : kTextHeight) + kSvgGap;
  }

  SvgPicture drawn() {
    const double wide = cell_width_ * static_cast<double>(picture_.columns.size());
    const double high = cell_height_ * static_cast<double>(picture_.rows.size());
    const std::string title = picture_.title.in(catalogue_);
    canvas_.text({kSvgGap, kTextHeight + kSvgGap}, title, {.size = 13, .bold = true});
    add_axes(wide, high);
    for (size_t row = 0; row < picture_.rows.size(); ++row) {
      for (size_t column = 0; column < picture_.columns.size(); ++column) add_cell(row, column);
    }
    const double legend = add_legend(top_ + high + 3 * kSvgGap);
    const double width = std::max(
        {left_ + wide + kSvgGap, SvgCanvas::text_width(title, 14) + 2 * kSvgGap, legend + kSvgGap});
    return {width, top_ + high + 3 * kSvgGap + 2 * kTextHeight + 3 * kSvgGap, canvas_.body()};
  }

 private:
  static constexpr double kLeastCell = 22, kSmallCell = 12, kNumberSize = 9;
  static constexpr size_t kMostNumbered = 32;

  void add_axes(double wide, double high) {
    canvas_.text({left_ + wide / 2, kTitleHeight + kTextHeight},
                 picture_.column_title.in(catalogue_), {.anchor = "middle", .ink = SvgInk::soft});
    const double middle = top_ + high / 2;
    canvas_.text({kTextHeight, middle}, picture_.row_title.in(catalogue_),
                 {.anchor = "middle", .ink = SvgInk::soft, .turned = -90});
    for (size_t row = 0; row < picture_.rows.size(); ++row) {
      const double y = top_ + cell_height_ * (static_cast<double>(row) + 0.5) + 4;
      canvas_.text({left_ - kSvgGap, y}, svg_label(picture_.rows[row], catalogue_),
                   {.anchor = "end"});
    }
    for (size_t column = 0; column < picture_.columns.size(); ++column) {
      const double x = left_ + cell_width_ * (static_cast<double>(column) + 0.5);
      const std::string label = svg_label(picture_.columns[column], catalogue_);
      if (turns_columns_) {
        canvas_.text({x + 4, top_ - kSvgGap}, label, {.turned = -90});
      } else {
        canvas_.text({x, top_ - kSvgGap}, label, {.anchor = "middle"});
      }
    }
  }

  void add_cell(size_t row, size_t column) {
    const SvgBox box{left_ + cell_width_ * static_cast<double>(column),
                     top_ + cell_height_ * static_cast<double>(row), cell_width_ - 1,
                     cell_height_ - 1};
    const auto& value = picture_.values[row * picture_.columns.size() + column];
    if (!value) {
      canvas_.line({box.x + box.width / 2 - 2, box.y + box.height / 2},
                   {box.x + box.width / 2 + 2, box.y + box.height / 2});
      return;
    }
    canvas_.title(picture_.rows[row].in(catalogue_) + " · " +
                  picture_.columns[column].in(catalogue_) + ": " +
                  catalogue_.significant(*value, 4));
    add_shade(box, *value);
    if (!shows_numbers_) return;
    const bool is_dark = share_of(*value) > 0.6;
    canvas_.text(
        {box.x + box.width / 2, box.y + box.height / 2 + 3}, format_.text(catalogue_, *value),
        {.anchor = "middle", .size = kNumberSize, .ink = is_dark ? SvgInk::paper : SvgInk::text});
  }

  // What is below zero has a corner of its own, which grey paper shows too.
  void add_shade(const SvgBox& box, double value) {
    constexpr double kFaintest = 0.04, kCorner = 5;
    canvas_.fill(box, value < 0 ? SvgInk::minus : SvgInk::plus,
                 kFaintest + (1 - kFaintest) * share_of(value));
    if (value < 0)
      canvas_.line({box.x, box.y + kCorner}, {box.x + kCorner, box.y}, {.ink = SvgInk::text});
  }

  double share_of(double value) const { return largest_ > 0 ? std::fabs(value) / largest_ : 0; }

  // Where it ends.
  double add_legend(double y) {
    constexpr int kSteps = 4;
    constexpr double kSize = 10;
    double x = left_;
    const int first = has_minus_ ? -kSteps : 0;
    for (int step = first; step <= kSteps; ++step) {
      const SvgBox box{x, y, 14, 10};
      add_shade(box, largest_ * step / kSteps);
      x += box.width + 1;
    }
    const std::string low = format_.text(catalogue_, has_minus_ ? -largest_ : 0);
    canvas_.text({left_, y + 10 + kTextHeight + 2}, low, {.size = kSize, .ink = SvgInk::soft});
    canvas_.text({x, y + 10 + kTextHeight + 2}, format_.text(catalogue_, largest_),
                 {.anchor = "end", .size = kSize, .ink = SvgInk::soft});
    const std::string legend = picture_.legend.in(catalogue_);
    canvas_.text({x + kSvgGap, y + 9}, legend, {.size = kSize, .ink = SvgInk::soft});
    return x + kSvgGap + SvgCanvas::text_width(legend, kSize);
  }

  const MatrixPicture& picture_;
  const Catalogue& catalogue_;
  SvgCanvas canvas_;
  ReportNumberFormat format_;
  double largest_ = 0;
  bool has_minus_ = false;
  bool shows_numbers_ = true;
  bool turns_columns_ = false;
  double cell_width_ = 0, cell_height_ = 0, left_ = 0, top_ = 0;
};

// Where bars lie and what their lengths mean.
struct BarScale {
  Ticks ticks;
  double left = 0;
  double wide = 0;

  double at(double value) const {
    return left + wide * (value - ticks.low) / (ticks.high - ticks.low);
  }
};

void add_bar(SvgCanvas& canvas, const BarPicture::Bar& bar, const BarScale& scale, double y) {
  constexpr double kThick = 12;
  const double zero = scale.at(0), end = scale.at(bar.value);
  canvas.fill({std::min(zero, end), y, std::max(0.5, std::fabs(end - zero)), kThick},
              bar.value < 0 ? SvgInk::minus : SvgInk::plus, bar.value < 0 ? 0.55 : 0.85);
  if (!bar.range) return;
  const double low = scale.at(bar.range->low), high = scale.at(bar.range->high);
  const double middle = y + kThick / 2;
  canvas.line({low, middle}, {high, middle}, {.ink = SvgInk::text, .width = 1.5});
  for (const double x : {low, high})
    canvas.line({x, middle - 4}, {x, middle + 4}, {.ink = SvgInk::text, .width = 1.5});
}

BarScale bar_scale(const BarPicture& picture, double left) {
  constexpr double kWide = 360;
  double low = 0, high = 0;
  for (const BarPicture::Bar& bar : picture.bars) {
    low = std::min({low, bar.value, bar.range ? bar.range->low : 0});
    high = std::max({high, bar.value, bar.range ? bar.range->high : 0});
  }
  return {ticks_of(low, high), left, kWide};
}

}  // namespace

std::string Ticks::text(const Catalogue& catalogue, double tick) const {
  constexpr int kMostDecimals = 6;
  return ReportNumberFormat{.decimals = decimals > kMostDecimals ? 1 : decimals,
                            .scientific = decimals > kMostDecimals}
      .text(catalogue, tick);
}

Ticks ticks_of(double low, double high, bool whole) {
  constexpr int kAbout = 5;
  if (!(high > low)) {
    const double room = low == 0 ? 1 : std::fabs(low) / 2;
    low -= low == 0 ? 0 : room;
    high += room;
  }
  const double rough = (high - low) / kAbout;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough * 0.999) {
      step = factor * power;
      break;
    }
  }
  if (whole) step = std::max(1.0, step);
  Ticks ticks{.low = step * std::floor(low / step + 1e-9),
              .high = step * std::ceil(high / step - 1e-9),
              .decimals = std::max(0, -static_cast<int>(std::floor(std::log10(step) + 1e-9)))};
  const auto count = std::llround((ticks.high - ticks.low) / step);
  for (int64_t i = 0; i <= count; ++i)
    ticks.at.push_back(ticks.low + step * static_cast<double>(i));
  return ticks;
}

SvgPicture draw_picture(const MatrixPicture& picture, const Catalogue& catalogue) {
  return MatrixDrawer(picture, catalogue).drawn();
}

SvgPicture draw_picture(const BarPicture& picture, const Catalogue& catalogue) {
  constexpr double kRow = 18;
  SvgCanvas canvas;
  std::vector<ReportText> labels;
  for (const BarPicture::Bar& bar : picture.bars) labels.push_back(bar.label);
  const BarScale scale = bar_scale(picture, 2 * kSvgGap + widest_label(labels, catalogue));
  const double top = kTitleHeight + kSvgGap;
  const double bottom = top + kRow * static_cast<double>(picture.bars.size());
  const std::string title = picture.title.in(catalogue);
  canvas.text({kSvgGap, kTextHeight + kSvgGap}, title, {.size = 13, .bold = true});
  for (const double tick : scale.ticks.at) {
    canvas.line({scale.at(tick), top}, {scale.at(tick), bottom});
    canvas.text({scale.at(tick), bottom + kTextHeight + 3}, scale.ticks.text(catalogue, tick),
                {.anchor = "middle", .size = 10, .ink = SvgInk::soft});
  }
  for (size_t i = 0; i < picture.bars.size(); ++i) {
    const double y = top + kRow * static_cast<double>(i) + 3;
    const BarPicture::Bar& bar = picture.bars[i];
    canvas.text({scale.left - kSvgGap, y + 10}, svg_label(bar.label, catalogue), {.anchor = "end"});
    canvas.title(bar.label.in(catalogue) + ": " + catalogue.significant(bar.value, 4));
    add_bar(canvas, bar, scale, y);
  }
  canvas.line({scale.at(0), top}, {scale.at(0), bottom}, {.ink = SvgInk::text});
  double y = bottom + 2 * kTextHeight + 2 * kSvgGap;
  canvas.text({scale.left + scale.wide / 2, y}, picture.axis.in(catalogue),
              {.anchor = "middle", .ink = SvgInk::soft});
  if (!picture.range_label.empty()) {
    y += kTextHeight + kSvgGap;
    canvas.line({scale.left, y - 4}, {scale.left + 18, y - 4}, {.ink = SvgInk::text, .width = 1.5});
    canvas.text({scale.left + 24, y}, picture.range_label.in(catalogue),
                {.size = 10, .ink = SvgInk::soft});
  }
  const double width = std::max(scale.left + scale.wide + 4 * kSvgGap,
                                SvgCanvas::text_width(title, 14) + 2 * kSvgGap);
  return {width, y + 2 * kSvgGap, canvas.body()};
}

SvgPicture draw_picture(const ReportPicture& picture, const Catalogue& catalogue) {
  return std::visit([&](const auto& one) { return draw_picture(one, catalogue); }, picture);
}

std::string svg_document(const std::vector<SvgPicture>& pictures, const std::string& title,
                         const std::string& description) {
  constexpr double kBetween = 18;
  std::string body;
  double x = 0, y = 0, row = 0, width = 0;
  for (const SvgPicture& picture : pictures) {
    if (x > 0 && x + picture.width > kWidestDrawing) {
      y += row + kBetween;
      x = row = 0;
    }
    body += "<g transform=\"translate(" + svg_number(x) + " " + svg_number(y) + ")\">\n" +
            picture.body + "</g>\n";
    row = std::max(row, picture.height);
    width = std::max(width, x + picture.width);
    x += picture.width + kBetween;
  }
  const std::string wide = svg_number(std::ceil(width)), high = svg_number(std::ceil(y + row));
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + wide + " " + high +
         "\" width=\"" + wide + "\" height=\"" + high +
         "\" role=\"img\" font-family=\"sans-serif\">\n<title>" + xml_text(title) +
         "</title>\n<desc>" + xml_text(description) +
         "</desc>\n<rect width=\"100%\" height=\"100%\" class=\"fill-ground\" "
         "fill=\"#ffffff\"/>\n" +
         body + "</svg>\n";
}

std::string report_svg(const Report& report, const Catalogue& catalogue) {
  std::vector<SvgPicture> pictures;
  for (const ReportPicture& picture : report.pictures)
    pictures.push_back(draw_picture(picture, catalogue));
  return svg_document(pictures, report.title.in(catalogue), report.summary.in(catalogue));
}

}  // namespace headlight::narrate
