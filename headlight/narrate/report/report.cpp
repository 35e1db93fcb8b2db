// Cells of reports, and heads as rows and columns.
#include "headlight/narrate/report/report.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include "headlight/narrate/report/report_numbers.h"

namespace headlight::narrate {
namespace {

std::optional<size_t> column_called(const ReportTable& table, std::string_view name) {
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].name == name) return i;
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> finite_or_nothing(double value) {
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<double> number_of(const ReportCell& cell) {
  if (const auto* number = std::get_if<double>(&cell)) return finite_or_nothing(*number);
  if (const auto* count = std::get_if<int64_t>(&cell)) return static_cast<double>(*count);
  return std::nullopt;
}

HeadPlace place_of_head(const std::string& name) {
  HeadPlace found{.place = name};
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos) return found;
  const char* end = name.data() + name.size();
  if (std::from_chars(name.data() + dot + 1, end, found.head).ptr == end) {
    found.place = name.substr(0, dot);
  }
  return found;
}

bool is_by_head(const ReportTable& table) {
  const auto column = column_called(table, "head");
  if (!column) return false;
  std::set<std::string> seen;
  return std::ranges::all_of(table.rows, [&](const std::vector<ReportCell>& row) {
    const auto* name = std::get_if<std::string>(&row[*column]);
    return name != nullptr && seen.insert(*name).second;
  });
}

MatrixPicture heads_map(const ReportTable& table, std::string_view column) {
  const size_t head_column = column_called(table, "head").value();
  const size_t shown = column_called(table, column).value();
  std::vector<std::string> places;
  std::set<int64_t> numbers;
  std::map<std::pair<std::string, int64_t>, std::optional<double>> values;
  for (const std::vector<ReportCell>& row : table.rows) {
    const HeadPlace at = place_of_head(std::get<std::string>(row[head_column]));
    if (std::ranges::find(places, at.place) == places.end()) places.push_back(at.place);
    numbers.insert(at.head);
    values[{at.place, at.head}] = number_of(row[shown]);
  }
  MatrixPicture picture{.title = table.columns[shown].heading,
                        .row_title = told("experiment.axis.layer"),
                        .column_title = told("experiment.axis.head"),
                        .legend = table.columns[shown].heading};
  for (const int64_t head : numbers)
    picture.columns.push_back(in_these_words(std::to_string(head)));
  // Tables may be sorted by anything; layers are in their order here.
  std::ranges::stable_sort(places, [](const std::string& a, const std::string& b) {
    const auto key = [](const std::string& place) {
      const size_t dot = place.find('.');
      int64_t layer = 0;
      if (dot != std::string::npos)
        std::from_chars(place.data() + dot + 1, place.data() + place.size(), layer);
      return std::tuple(!place.starts_with("encoder"), layer, place.ends_with("cross"));
    };
    return key(a) < key(b);
  });
  for (const std::string& place : places) {
    picture.rows.push_back(in_these_words(place));
    for (const int64_t head : numbers) {
      const auto found = values.find({place, head});
      picture.values.push_back(found == values.end() ? std::nullopt : found->second);
    }
  }
  return picture;
}

ReportNumberFormat report_format(std::span<const double> values, int digits) {
  double largest = 0;
  bool whole = true;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    largest = std::max(largest, std::fabs(value));
    whole = whole && value == std::floor(value);
  }
  constexpr double kSmall = 1e-4, kLarge = 1e7;
  if (whole && largest < kLarge) return {};
  if (largest < kSmall || largest >= kLarge) return {.decimals = digits - 1, .scientific = true};
  const int before = static_cast<int>(std::floor(std::log10(largest)));
  return {.decimals = std::clamp(digits - 1 - before, 0, 6)};
}

std::string ReportNumberFormat::text(const Catalogue& catalogue, double value) const {
  if (value == 0 && scientific) return "0";
  std::string digits = number_text(
      value, decimals, scientific ? std::chars_format::scientific : std::chars_format::fixed);
  // A zero has no sign.
  if (digits.starts_with('-') && digits.find_first_of("123456789") == std::string::npos)
    digits.erase(0, 1);
  return with_decimal(std::move(digits), catalogue.decimal());
}

std::vector<double> column_numbers(const ReportTable& table, size_t column) {
  std::vector<double> numbers;
  for (const std::vector<ReportCell>& row : table.rows) {
    if (const auto number = number_of(row[column])) numbers.push_back(*number);
  }
  return numbers;
}

std::string cell_text(const ReportCell& cell, const ReportNumberFormat& format,
                      const Catalogue& catalogue) {
  if (const auto* words = std::get_if<std::string>(&cell)) return visible(*words);
  if (const auto* word = std::get_if<ReportWord>(&cell)) return catalogue.text(word->key);
  const auto number = number_of(cell);
  return number ? format.text(catalogue, *number) : "–";
}

}  // namespace headlight::narrate
