// The unigram model of tokenizer.json.
#include <algorithm>
#include <cmath>

#include "headlight/text/joiner.h"
#include "headlight/text/model.h"

namespace headlight::text {
namespace {

// The number as Hugging Face's reader of JSON has it: the shortest digits that say it, rounded, and
// divided by a power of ten. It may be off by its last bit, which decides between pieces that are
// as probable as others in another order.
double rounded_twice(double score) {
  constexpr int64_t kMostPlaces = 300;
  const std::string text = io::number_text(score);
  const size_t exponent = std::min(text.find('e'), text.size());
  const size_t point = std::min(text.find('.'), exponent);
  const size_t first = text.starts_with('-') ? 1 : 0;
  const std::string digits = text.substr(first, point - first) +
                             (point < exponent ? text.substr(point + 1, exponent - point - 1) : "");
  int64_t places = point < exponent ? static_cast<int64_t>(exponent - point - 1) : 0;
  if (exponent < text.size()) {
    const size_t sign = text[exponent + 1] == '+' ? 1 : 0;
    places -= io::parse_number<int64_t>(text.substr(exponent + 1 + sign)).value_or(0);
  }
  const auto whole = io::parse_number<uint64_t>(digits);
  const auto power = io::parse_number<double>("1e" + std::to_string(places));
  if (!whole || !power || places <= 0 || places > kMostPlaces) return score;
  return std::copysign(static_cast<double>(*whole) / *power, score);
}

std::vector<double> read_scores(std::vector<double> scores, bool rounds_twice) {
  if (rounds_twice) std::ranges::transform(scores, scores.begin(), rounded_twice);
  return scores;
}

UnigramTable<double> table_of(const Vocabulary& vocabulary, const std::vector<double>& scores,
                              const std::string& name) {
  std::vector<UnigramTable<double>::Entry> entries;
  for (size_t i = 0; i < scores.size(); ++i) {
    const auto id = static_cast<int64_t>(i);
    const std::string& token = vocabulary.token(id);
    if (token.empty() || vocabulary.is_special(id)) continue;
    entries.push_back({.text = token, .id = static_cast<int32_t>(id), .score = scores[i]});
  }
  return {entries, std::ranges::min(scores), name};
}

}  // namespace

Unigram::Unigram(const Vocabulary& vocabulary, std::vector<double> scores, Settings settings,
                 const std::string& name)
    : settings_(settings),
      scores_(std::move(scores)),
      table_(table_of(vocabulary, read_scores(scores_, settings.rounds_twice), name)) {
  for (size_t i = 0; i < byte_ids_.size(); ++i) {
    const auto id = vocabulary.find_plain(byte_token(static_cast<unsigned char>(i)));
    byte_ids_[i] = id ? static_cast<int32_t>(*id) : -1;
  }
}

// Unknown characters in a row are one: a token by chance, or bytes, or the unknown token.
void Unigram::encode_unknown(const Vocabulary& vocabulary, std::string_view run, Ids& ids) const {
  const auto id_of = [&](char c) { return byte_ids_[static_cast<unsigned char>(c)]; };
  if (const auto id = vocabulary.find_plain(run)) return ids.push_back(*id);
  if (settings_.falls_back_to_bytes &&
      std::ranges::all_of(run, [&](char c) { return id_of(c) >= 0; })) {
    for (const char c : run) ids.push_back(id_of(c));
  } else {
    ids.push_back(unknown_id(settings_.unknown, run));
  }
}

void Unigram::encode(const Vocabulary& vocabulary, std::string_view piece, Ids& ids) const {
  size_t at = 0;
  size_t unknown = 0;  // bytes of unknown characters before this place
  const auto end_unknown = [&] {
    if (unknown > 0) encode_unknown(vocabulary, piece.substr(at - unknown, unknown), ids);
    unknown = 0;
  };
  table_.for_each_piece(piece, [&](std::string_view part, int32_t id) {
    if (id == UnigramTable<double>::kUnknown || id == settings_.unknown) {
      unknown += part.size();
    } else {
      end_unknown();
      ids.push_back(id);
    }
    at += part.size();
  });
  end_unknown();
}

io::Json::Object Unigram::json(const Vocabulary& vocabulary) const {
  io::Json::Array vocab;
  vocab.reserve(scores_.size());
  for (size_t i = 0; i < scores_.size(); ++i) {
    vocab.emplace_back(io::Json::Array{vocabulary.token(static_cast<int64_t>(i)), scores_[i]});
  }
  io::Json::Object result = {
      {"type", "Unigram"},
      {"unk_id", settings_.unknown ? io::Json(*settings_.unknown) : io::Json()},
      {"byte_fallback", settings_.falls_back_to_bytes}};
  result.emplace_back("vocab", std::move(vocab));
  return result;
}

}  // namespace headlight::text
