// Rotary settings, and the parameters of llama3 scaling found from what it does to each rate.
#include "headlight/models/gguf_rotary.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "headlight/models/config_reader.h"

namespace headlight::models {
namespace {

using Object = io::Json::Object;
using Settings = GgufSettingsReader;

constexpr double kUsualBase = 10000;

// Llama 3's scaling: rates that turn fewer than `low` times (here 1) over the original positions
// are divided by the factor, those that turn more than `high` times kept, others mixed.
struct Llama3Scaling {
  double factor = 1;
  double high = 4;
  int64_t positions = 8192;

  double divisor(double wave) const {
    const double turns = static_cast<double>(positions) / wave;
    if (turns > high) return 1;
    if (turns < 1) return factor;
    const double kept = (turns - 1) / (high - 1);
    return 1 / ((1 - kept) / factor + kept);
  }
};

std::vector<double> wave_lengths(double base, int64_t head_dim) {
  std::vector<double> waves;
  for (int64_t column = 0; column < head_dim; column += 2) {
    waves.push_back(2 * std::numbers::pi *
                    std::pow(base, static_cast<double>(column) / static_cast<double>(head_dim)));
  }
  return waves;
}

// `high` from one rate that is mixed: its divisor says how much of it is kept.
double high_from(double divisor, double wave, double factor, int64_t positions) {
  const double kept = (1 / divisor - 1 / factor) / (1 - 1 / factor);
  return 1 + (static_cast<double>(positions) / wave - 1) / kept;
}

// Files hold float32, so that the number meant is near.
double rounded(double high) {
  constexpr double kSteps = 64;
  return std::round(high * kSteps) / kSteps;
}

bool fits(const Llama3Scaling& scaling, const std::vector<double>& waves,
          const std::vector<double>& divisors) {
  constexpr double kTolerance = 1e-5;
  for (size_t i = 0; i < waves.size(); ++i) {
    const double right = scaling.divisor(waves[i]);
    if (!(std::abs(divisors[i] - right) <= kTolerance * right)) return false;
  }
  return true;
}

// Of all that give these divisors, one with numbers that somebody would choose.
std::optional<Llama3Scaling> find_llama3(const std::vector<double>& waves,
                                         const std::vector<double>& divisors) {
  const double factor = std::ranges::max(divisors);
  const auto mixed = std::ranges::find_if(
      divisors, [factor](double divisor) { return divisor > 1 && divisor < factor; });
  for (const bool is_rounded : {true, false}) {
    for (int64_t positions = int64_t{1} << 24; positions > 1; positions /= 2) {
      Llama3Scaling scaling{.factor = factor, .positions = positions};
      if (mixed != divisors.end()) {
        const double wave = waves[static_cast<size_t>(mixed - divisors.begin())];
        scaling.high = high_from(*mixed, wave, factor, positions);
        if (is_rounded) scaling.high = rounded(scaling.high);
      }
      if (scaling.high > 1 && fits(scaling, waves, divisors)) return scaling;
    }
  }
  return std::nullopt;
}

// What the tensor of factors says; null where it divides nothing.
io::Json factors_scaling(const Settings& settings, double base, int64_t head_dim) {
  const auto refuse_factors = [&](const std::string& why) {
    base::refuse("gguf", settings.path(), std::string(kRotaryFactors) + " " + why);
  };
  const io::Gguf::Entry* entry = settings.file().find(kRotaryFactors);
  if (entry->array.shape != tensor::Shape({head_dim / 2})) {
    refuse_factors("has the shape " + entry->array.shape.text() + ", heads need " +
                   tensor::Shape({head_dim / 2}).text());
  }
  const tensor::Tensor numbers = settings.file().load(*entry);
  if (numbers.dtype() != tensor::DType::f32) refuse_factors("holds no float32");
  const std::vector<double> divisors(numbers.data<float>(),
                                     numbers.data<float>() + numbers.elements());
  if (std::ranges::all_of(divisors, [](double one) { return one == 1; })) return {};
  const auto found = find_llama3(wave_lengths(base, head_dim), divisors);
  if (!found) refuse_factors("holds factors that no llama3 scaling gives, which are not computed");
  return Object{{"rope_type", "llama3"},
                {"factor", short_number(static_cast<float>(found->factor))},
                {"low_freq_factor", 1.0},
                {"high_freq_factor", found->high},
                {"original_max_position_embeddings", found->positions}};
}

// What the settings say; null: nothing is scaled.
io::Json settings_scaling(const Settings& settings) {
  const std::string type = settings.text("rope.scaling.type");
  double factor = settings.find_number("rope.scaling.factor").value_or(0);
  const auto early = settings.find_number("rope.scale_linear");
  settings.pass({"rope.scaling.original_context_length"});
  if (early && factor == 0) factor = *early;
  if (type == "none" || ((type.empty() || type == "linear") && (factor == 0 || factor == 1))) {
    return {};
  }
  if (!type.empty() && type != "linear") {
    settings.refuse("rope.scaling.type",
                    "is " + io::in_quotes(type) + "; none and linear are computed");
  }
  if (factor < 0) settings.refuse("rope.scaling.factor", "is below 0");
  return Object{{"rope_type", "linear"}, {"factor", short_number(static_cast<float>(factor))}};
}

}  // namespace

void check_rotated_columns(const Settings& settings, int64_t head_dim) {
  const int64_t columns = settings.find_integer("rope.dimension_count").value_or(head_dim);
  if (columns == head_dim) return;
  settings.refuse("rope.dimension_count", "is " + std::to_string(columns) + ", all " +
                                              std::to_string(head_dim) +
                                              " columns of a head are rotated");
}

void refuse_rotary_scaling(const Settings& settings) {
  if (settings_scaling(settings).is_null() && !settings.has(kRotaryFactors)) return;
  settings.refuse("rope.scaling.type", "asks for rotary scaling, which this architecture has not");
}

void add_rotation(const Settings& settings, int64_t head_dim, Object& config) {
  check_rotated_columns(settings, head_dim);
  const double base = settings.find_number("rope.freq_base").value_or(kUsualBase);
  io::Json scaling = settings_scaling(settings);
  if (settings.has(kRotaryFactors)) {
    if (!(base > 0) || head_dim < 2 || head_dim > kMostWidth) {
      settings.refuse("rope.freq_base", "gives no rates to which factors belong");
    }
    io::Json factors = factors_scaling(settings, base, head_dim);
    if (!scaling.is_null() && !factors.is_null()) {
      settings.refuse("rope.scaling.type", "and " + std::string(kRotaryFactors) + " both scale");
    }
    if (scaling.is_null()) scaling = std::move(factors);
  }
  config.emplace_back("rope_theta", base);
  config.emplace_back("rope_scaling", std::move(scaling));
}

void add_partial_rotation(const Settings& settings, int64_t head_dim, Object& config) {
  refuse_rotary_scaling(settings);
  const int64_t columns = settings.find_integer("rope.dimension_count").value_or(head_dim);
  if (columns < 1 || columns > head_dim) {
    settings.refuse("rope.dimension_count", "is " + std::to_string(columns) + ", heads have " +
                                                std::to_string(head_dim) + " columns");
  }
  // The share is multiplied by the width and rounded down again.
  const auto width = static_cast<double>(head_dim);
  double share = static_cast<double>(columns) / width;
  if (static_cast<int64_t>(width * share) < columns) share = std::nextafter(share, 2.0);
  config.emplace_back("rotary_pct", share);
  config.emplace_back("rotary_emb_base",
                      settings.find_number("rope.freq_base").value_or(kUsualBase));
}

}  // namespace headlight::models
