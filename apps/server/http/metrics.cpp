// Counters and their text.
#include "apps/server/http/metrics.h"

#include <array>
#include <charconv>

namespace headlight::server {
namespace {

constexpr std::array kBounds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                0.5,   1.0,    2.5,   5.0,  10.0,  30.0, 60.0};

std::string decimal(double value) {
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  return {digits.data(), end.ptr};
}

std::string escaped(std::string_view text, bool in_quotes) {
  std::string result;
  for (const char c : text) {
    if (c == '\\' || (c == '"' && in_quotes)) {
      result.append({'\\', c});
    } else if (c == '\n') {
      result += "\\n";
    } else {
      result += c;
    }
  }
  return result;
}

// {route="/v1/models",status="200"}; empty where there are none.
std::string label_text(const MetricLabels& labels, std::string_view bound = {}) {
  std::string text;
  const auto add = [&](std::string_view name, std::string_view value) {
    text.append(text.empty() ? "{" : ",").append(name).append("=\"");
    text.append(escaped(value, true)).append("\"");
  };
  for (const auto& [name, value] : labels) add(name, value);
  if (!bound.empty()) add("le", bound);
  return text.empty() ? text : text + "}";
}

template <class Kind>
Kind& found_or_made(std::map<MetricLabels, std::unique_ptr<Kind>>& all,
                    const MetricLabels& labels) {
  std::unique_ptr<Kind>& found = all[labels];
  if (!found) found = std::make_unique<Kind>();
  return *found;
}

}  // namespace

Histogram::Histogram() : counts_(kBounds.size() + 1) {}

void Histogram::observe(double seconds) noexcept {
  size_t place = 0;
  while (place < kBounds.size() && seconds > kBounds[place]) ++place;
  counts_[place].fetch_add(1, std::memory_order_relaxed);
  microseconds_.fetch_add(static_cast<uint64_t>(seconds > 0 ? seconds * 1e6 : 0),
                          std::memory_order_relaxed);
}

struct Metrics::Family {
  std::string help;
  std::string_view type;
  std::map<MetricLabels, std::unique_ptr<Counter>> counters = {};
  std::map<MetricLabels, std::unique_ptr<Gauge>> gauges = {};
  std::map<MetricLabels, std::unique_ptr<Histogram>> histograms = {};

  void append_histogram(std::string& text, const std::string& name, const MetricLabels& labels,
                        const Histogram& one) const {
    uint64_t sum = 0;
    for (size_t i = 0; i < one.counts_.size(); ++i) {
      sum += one.counts_[i].load(std::memory_order_relaxed);
      const std::string bound = i < kBounds.size() ? decimal(kBounds[i]) : "+Inf";
      text += name + "_bucket" + label_text(labels, bound) + " " + std::to_string(sum) + "\n";
    }
    const auto seconds = static_cast<double>(one.microseconds_.load()) / 1e6;
    text += name + "_sum" + label_text(labels) + " " + decimal(seconds) + "\n";
    text += name + "_count" + label_text(labels) + " " + std::to_string(sum) + "\n";
  }
};

Metrics::Metrics() = default;
Metrics::~Metrics() = default;

Metrics::Family& Metrics::family(const std::string& name, const std::string& help,
                                 std::string_view type) {
  std::unique_ptr<Family>& found = families_[name];
  if (!found) found = std::make_unique<Family>(Family{.help = help, .type = type});
  return *found;
}

Counter& Metrics::counter(const std::string& name, const std::string& help,
                          const MetricLabels& labels) {
  const std::lock_guard lock(mutex_);
  return found_or_made(family(name, help, "counter").counters, labels);
}

Gauge& Metrics::gauge(const std::string& name, const std::string& help,
                      const MetricLabels& labels) {
  const std::lock_guard lock(mutex_);
  return found_or_made(family(name, help, "gauge").gauges, labels);
}

Histogram& Metrics::histogram(const std::string& name, const std::string& help,
                              const MetricLabels& labels) {
  const std::lock_guard lock(mutex_);
  return found_or_made(family(name, help, "histogram").histograms, labels);
}

std::string Metrics::text() const {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const auto& [name, family] : families_) {
    text += "# HELP " + name + " " + escaped(family->help, false) + "\n";
    text += "# TYPE " + name + " " + std::string(family->type) + "\n";
    for (const auto& [labels, one] : family->counters) {
      text += name + label_text(labels) + " " + std::to_string(one->value()) + "\n";
    }
    for (const auto& [labels, one] : family->gauges) {
      text += name + label_text(labels) + " " + std::to_string(one->value()) + "\n";
    }
    for (const auto& [labels, one] : family->histograms) {
      family->append_histogram(text, name, labels, *one);
    }
  }
  return text;
}

}  // namespace headlight::server
