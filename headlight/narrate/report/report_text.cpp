// Texts of reports in a language, and as a page has them.
#include "headlight/narrate/report/report_text.h"

#include <cmath>

#include "headlight/narrate/text_layout.h"

namespace headlight::narrate {
namespace {

using io::Json;

std::string percentage(const Catalogue& catalogue, double share) {
  constexpr int kDigits = 3;
  return catalogue.text("language.percent",
                        {{"number", catalogue.significant(100 * share, kDigits)}});
}

std::string value_in(const Catalogue& catalogue, const ReportValue& value) {
  if (const auto* words = std::get_if<std::string>(&value.value)) return visible(*words);
  if (const auto* number = std::get_if<ReportNumber>(&value.value)) {
    return catalogue.significant(number->value, number->digits);
  }
  if (const auto* share = std::get_if<ReportShare>(&value.value)) {
    return percentage(catalogue, share->value);
  }
  return catalogue.text(std::get<ReportKey>(value.value).key);
}

Json value_json(const ReportValue& value) {
  if (const auto* words = std::get_if<std::string>(&value.value)) return visible(*words);
  if (const auto* number = std::get_if<ReportNumber>(&value.value)) {
    return Json::Object{{"number", number->value}, {"digits", number->digits}};
  }
  if (const auto* share = std::get_if<ReportShare>(&value.value)) {
    return Json::Object{{"share", share->value}};
  }
  return Json::Object{{"key", std::get<ReportKey>(value.value).key}};
}

}  // namespace

std::string ReportText::in(const Catalogue& catalogue) const {
  if (key.empty()) return visible(words);
  std::vector<Placeholder> filled;
  for (const ReportValue& value : values) {
    filled.emplace_back(value.name, value_in(catalogue, value));
  }
  return catalogue.text(key, filled);
}

ReportText told(std::string key, std::vector<ReportValue> values) {
  return {.key = std::move(key), .values = std::move(values)};
}

ReportText in_these_words(std::string words) { return {.words = std::move(words)}; }

Json report_text_json(const ReportText& text) {
  if (text.key.empty()) return Json::Object{{"words", visible(text.words)}};
  Json::Object values;
  for (const ReportValue& value : text.values) values.emplace_back(value.name, value_json(value));
  return Json::Object{{"key", text.key}, {"values", std::move(values)}};
}

}  // namespace headlight::narrate
