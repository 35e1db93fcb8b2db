// A plot in SVG: axes with round numbers, two lines, readable on light and dark.
#include "headlight/train/curves.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace headlight::train {
namespace {

constexpr double kWidth = 720, kHeight = 400, kLeft = 60, kRight = 20, kTop = 36, kBottom = 44;
// More points than pixels cannot be seen.
constexpr size_t kMostPoints = 1000;

std::string number_text(double number, int digits) {
  char text[64];
  const auto end =
      std::to_chars(text, text + sizeof text, number, std::chars_format::fixed, digits);
  return {text, end.ptr};
}

// 1, 2 or 5 times a power of ten, so that about `count` of them fill the range.
double round_step(double range, int count) {
  const double rough = range / count;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (rough <= factor * power) return factor * power;
  }
  return 10 * power;
}

// The last is always among them.
std::vector<LogPoint> thinned(const std::vector<LogPoint>& points) {
  if (points.size() <= kMostPoints) return points;
  std::vector<LogPoint> some;
  for (size_t i = 0; i < kMostPoints; ++i) {
    some.push_back(points[i * (points.size() - 1) / (kMostPoints - 1)]);
  }
  return some;
}

class Plot {
 public:
  Plot(const std::vector<LogPoint>& training, const std::vector<LogPoint>& validation) {
    double low = 1e300, high = -1e300;
    for (const auto* points : {&training, &validation}) {
      for (const LogPoint& point : *points) {
        last_step_ = std::max(last_step_, static_cast<double>(point.step));
        low = std::min(low, point.loss);
        high = std::max(high, point.loss);
      }
    }
    if (low > high) low = 0, high = 1;
    if (high - low < 1e-9) low -= 0.5, high += 0.5;
    step_ = round_step(high - low, 6);
    low_ = std::floor(low / step_) * step_;
    high_ = std::ceil(high / step_) * step_;
  }

  std::string axes() const {
    std::string text;
    const int digits = std::max(0, static_cast<int>(-std::floor(std::log10(step_) + 1e-9)));
    for (double loss = low_; loss <= high_ + step_ / 2; loss += step_) {
      text += "<line class=\"grid\" x1=\"" + number_text(kLeft, 1) + "\" x2=\"" +
              number_text(kWidth - kRight, 1) + "\" y1=\"" + y(loss) + "\" y2=\"" + y(loss) +
              "\"/><text x=\"" + number_text(kLeft - 8, 1) + "\" y=\"" + y(loss) +
              "\" dy=\"4\" text-anchor=\"end\">" + number_text(loss, digits) + "</text>\n";
    }
    const double step = std::max(1.0, round_step(last_step_, 8));
    for (double at = 0; at <= last_step_; at += step) {
      text += "<text x=\"" + x(at) + "\" y=\"" + number_text(kHeight - kBottom + 18, 1) +
              "\" text-anchor=\"middle\">" + number_text(at, 0) + "</text>\n";
    }
    return text;
  }

  std::string line(const std::vector<LogPoint>& points, const std::string& name) const {
    std::string text = "<polyline class=\"" + name + "\" points=\"";
    for (const LogPoint& point : points) {
      text += x(static_cast<double>(point.step)) + "," + y(point.loss) + " ";
    }
    return text + "\"/>\n";
  }

  std::string dots(const std::vector<LogPoint>& points) const {
    std::string text;
    for (const LogPoint& point : points) {
      text += "<circle class=\"validation\" cx=\"" + x(static_cast<double>(point.step)) +
              "\" cy=\"" + y(point.loss) + "\" r=\"3\"><title>step " + std::to_string(point.step) +
              ": " + number_text(point.loss, 4) + "</title></circle>\n";
    }
    return text;
  }

 private:
  std::string x(double step) const {
    return number_text(kLeft + (kWidth - kLeft - kRight) * step / last_step_, 1);
  }
  std::string y(double loss) const {
    return number_text(kTop + (kHeight - kTop - kBottom) * (high_ - loss) / (high_ - low_), 1);
  }

  double last_step_ = 1, low_ = 0, high_ = 1, step_ = 1;
};

constexpr std::string_view kStyle =
    R"(<style>
text { font: 12px sans-serif; fill: #555 }
.grid { stroke: #8884; stroke-width: 1 }
polyline { fill: none; stroke-width: 1.5 }
.training { stroke: #8899aa } .validation { stroke: #d9480f }
circle.validation, text.validation { fill: #d9480f; stroke: none }
text.training { fill: #778899 }
@media (prefers-color-scheme: dark) { text { fill: #bbb } svg { background: #111 } }
</style>
)";

}  // namespace

std::string curves_svg(const std::vector<LogPoint>& all_training,
                       const std::vector<LogPoint>& all_validation) {
  const std::vector<LogPoint> training = thinned(all_training);
  const std::vector<LogPoint> validation = thinned(all_validation);
  const Plot plot(training, validation);
  std::string text = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " +
                     number_text(kWidth, 0) + " " + number_text(kHeight, 0) + "\">\n";
  text += kStyle;
  text += "<text x=\"" + number_text(kLeft, 0) +
          "\" y=\"20\">loss per token over steps: <tspan font-weight=\"bold\" fill=\"#778899\">" +
          "training</tspan> and <tspan font-weight=\"bold\" fill=\"#d9480f\">validation</tspan>" +
          "</text>\n";
  text += plot.axes() + plot.line(training, "training") + plot.line(validation, "validation") +
          plot.dots(validation);
  return text + "</svg>\n";
}

}  // namespace headlight::train
