// The embedded model `repeats`: it goes on with what is repeated, whatever that is, by heads that
// work one after the other. They are found here without being named: by scores, by what is lost
// without them, by patching and by attribution, which have to agree.
#include <algorithm>
#include <cmath>

#include "tests/recipes/support.h"

namespace headlight::recipes {
namespace {

using tensor::Tensor;
using Names = std::vector<std::string>;

constexpr int64_t kSequences = 24;

// Different random words, twice.
struct RepeatedWords {
  int64_t period = 0;
  Tensor ids;  // (kSequences, 2 * period)
};

// What is measured of a run on them, mean over sequences.
struct CopyLosses {
  double first = 0;    // of words that nothing told before
  double second = 0;   // of the second copy, but for its first word
  double correct = 0;  // share of the second copy where the right word is the likeliest
};

class RepeatsModel : public testing::Test {
 protected:
  // Different words in an order that the seed draws.
  Names shuffled_words(uint64_t seed) const {
    Names words;
    for (int64_t id = 0; id < tokenizer_.size(); ++id) {
      if (!tokenizer_.is_special(id)) words.push_back(tokenizer_.token(id));
    }
    const base::Random random(seed);
    for (size_t i = 0; i + 1 < words.size(); ++i)
      std::swap(words[i], words[i + random.below(i, words.size() - i)]);
    return words;
  }

  RepeatedWords repeated(int64_t period, uint64_t seed) const {
    std::vector<int64_t> all;
    for (uint64_t row = 0; row < kSequences; ++row) {
      const Names words = shuffled_words(base::mix(seed, row));
      for (int64_t i = 0; i < 2 * period; ++i)
        all.push_back(*tokenizer_.find(words[static_cast<size_t>(i % period)]));
    }
    return {period, Tensor::of({kSequences, 2 * period}, all)};
  }

  CopyLosses losses(const RepeatedWords& text, const Names& heads_off = {}) {
    const models::Model& model = *loaded_.model;
    heads::HeadsOff off(heads_off.empty() ? std::vector<heads::HeadName>()
                                          : heads::parse_head_names(joined(heads_off), "heads_off"),
                        model);
    tensor::Arena arena;
    autograd::Context context{
        .threads = threads_, .arena = arena, .intervention = off.empty() ? nullptr : &off};
    const Tensor logits =
        model.logits(context, model.forward(context, {.ids = text.ids})).data().contiguous();
    const int64_t length = 2 * text.period, vocabulary = model.vocab_size();
    CopyLosses sums;
    for (int64_t place = 0; place < kSequences * length; ++place) {
      const int64_t next = place % length + 1;  // the word that is to be known
      if (next == length || next == text.period) continue;
      const int64_t right = text.ids.data<int64_t>()[place + 1];
      const float* row = logits.data<float>() + place * vocabulary;
      double sum = 0;
      for (int64_t id = 0; id < vocabulary; ++id) sum += std::exp(double{row[id]});
      (next < text.period ? sums.first : sums.second) += std::log(sum) - double{row[right]};
      if (next > text.period)
        sums.correct += std::max_element(row, row + vocabulary) - row == right ? 1 : 0;
    }
    const auto count = static_cast<double>(kSequences * (text.period - 1));
    return {sums.first / count, sums.second / count, sums.correct / count};
  }

  // What the circuit consists of, by scores alone.
  struct Circuit {
    Names previous = {};   // heads that look at the word before
    Names induction = {};  // those that look at what followed the same word
    Names others = {};
  };
  Circuit circuit() {
    const heads::BehaviourResult behaviour = heads::measure_behaviour(
        threads_, *loaded_.model, {.made = {.avoid = special_ids()}, .seed = 7});
    Circuit found;
    for (const auto& [place, of_place] : behaviour.heads) {
      for (size_t h = 0; h < of_place.size(); ++h) {
        const std::string head = place + "." + std::to_string(h);
        if (of_place[h].previous->value >= 0.5) found.previous.push_back(head);
        if (of_place[h].induction->value >= 0.5) found.induction.push_back(head);
      }
    }
    for (const heads::HeadName& head : heads::heads_of(*loaded_.model)) {
      if (!contains(found.previous, head.text()) && !contains(found.induction, head.text()))
        found.others.push_back(head.text());
    }
    return found;
  }

  std::vector<int64_t> special_ids() const {
    std::vector<int64_t> ids;
    for (int64_t id = 0; id < tokenizer_.size(); ++id) {
      if (tokenizer_.is_special(id)) ids.push_back(id);
    }
    return ids;
  }

  static bool contains(const Names& names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  }
  static std::string joined(const Names& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
    return text;
  }

  FilesWithEmbedded files_;
  base::ThreadPool threads_{2};
  LoadedModel loaded_ = load_named_model(files_, "repeats");
  text::Tokenizer tokenizer_ = need_tokenizer(files_, loaded_);
};

// Words of a sentence in which one pair comes twice: the last word is the first of that pair.
struct PairTwice {
  Names words;
  size_t answer = 0;  // where the second word of the pair stands

  std::string text() const {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
    return text;
  }
};

PairTwice pair_twice(Names words, size_t count, size_t first) {
  words.resize(count);
  words.push_back(words[first]);
  return {std::move(words), first + 1};
}

TEST_F(RepeatsModel, knows_the_second_copy_of_any_words_and_nothing_of_the_first) {
  const double chance = std::log(static_cast<double>(shuffled_words(0).size()));
  for (const int64_t period : {6, 13, 24, 32}) {
    const CopyLosses found = losses(repeated(period, 3));
    EXPECT_GT(found.first, 0.97 * chance) << period;
    EXPECT_LT(found.second, 0.2 * chance) << period;
    EXPECT_GT(found.correct, 0.95) << period;
  }
}

// Two layers are needed: heads of the first tell each word what came before it, heads of the second
// look for that.
TEST_F(RepeatsModel, has_heads_for_the_word_before_and_after_them_heads_for_induction) {
  const Circuit found = circuit();
  EXPECT_FALSE(found.previous.empty());
  for (const std::string& head : found.previous)
    EXPECT_TRUE(head.starts_with("decoder.0.self.")) << head;
  EXPECT_FALSE(found.induction.empty());
  for (const std::string& head : found.induction)
    EXPECT_TRUE(head.starts_with("decoder.1.self.")) << head;
  EXPECT_FALSE(found.others.empty()) << "else there is nothing to find";
}

TEST_F(RepeatsModel, cannot_go_on_without_either_part_of_the_circuit) {
  const Circuit found = circuit();
  for (const int64_t period : {13, 24}) {
    const RepeatedWords text = repeated(period, 4);
    const CopyLosses whole = losses(text);
    const CopyLosses no_previous = losses(text, found.previous);
    EXPECT_GT(no_previous.second, 0.7 * whole.first) << period;
    EXPECT_LT(no_previous.correct, 0.2) << period;
    const CopyLosses no_induction = losses(text, found.induction);
    EXPECT_GT(no_induction.second, 0.7 * whole.first) << period;
    EXPECT_LT(no_induction.correct, 0.2) << period;
    const CopyLosses no_others = losses(text, found.others);
    EXPECT_LT(no_others.second, 0.5 * whole.first) << period;
    EXPECT_GT(no_others.correct, 0.8) << period;
  }
}

// A pair that was there, and the same text with another word for its first: where a head's part in
// it comes from the second, the answer is gone.
TEST_F(RepeatsModel, puts_the_answer_together_where_the_circuit_says) {
  const Circuit found = circuit();
  for (const uint64_t seed : {1, 2, 3, 4, 5}) {
    const PairTwice clean = pair_twice(shuffled_words(seed), 20, 3 + seed);
    PairTwice corrupt = clean;
    corrupt.words[clean.answer - 1] = shuffled_words(seed).back();
    PatchRequest request{.clean = clean.text(),
                         .corrupt = corrupt.text(),
                         .word = clean.words[clean.answer],
                         .against = clean.words[clean.answer + 3]};
    request.options.direction = heads::PatchDirection::corrupt_into_clean;
    const auto left = patch(threads_, *loaded_.model, &tokenizer_, request);
    ASSERT_TRUE(left);
    bool is_told = false, is_copied = false;
    for (const heads::PatchedHead& place : left->patching.places) {
      if (place.restored > 0.7) continue;
      // In the first layer at the word that is to be copied, in the second at the last word.
      const bool tells = contains(found.previous, place.head) &&
                         place.position == static_cast<int64_t>(clean.answer);
      const bool copies =
          contains(found.induction, place.head) && place.position == std::ssize(clean.words) - 1;
      EXPECT_TRUE(tells || copies) << place.head << " at " << *place.position;
      is_told = is_told || (tells && place.restored < 0.3);
      is_copied = is_copied || (copies && place.restored < 0.3);
    }
    EXPECT_TRUE(is_told && is_copied);
    // The last in line is enough.
    request.options.direction = heads::PatchDirection::clean_into_corrupt;
    const auto restored = patch(threads_, *loaded_.model, &tokenizer_, request);
    ASSERT_TRUE(restored);
    double by_induction = 0;
    for (const heads::PatchedHead& head : restored->patching.heads) {
      if (contains(found.induction, head.head)) by_induction += head.restored;
      if (!contains(found.others, head.head)) continue;
      EXPECT_LT(head.restored, 0.2) << head.head;
    }
    EXPECT_GT(by_induction, 0.7);
  }
}

TEST_F(RepeatsModel, has_its_answers_from_induction_heads) {
  const Circuit found = circuit();
  for (const uint64_t seed : {5, 6, 7}) {
    const PairTwice twice = pair_twice(shuffled_words(seed), 16, 2 + seed);
    const AttributeAnswer answer = attribute(threads_, *loaded_.model, &tokenizer_,
                                             {.text = {.prompt = twice.text()},
                                              .word = twice.words[twice.answer],
                                              .against = twice.words[twice.answer - 3]});
    double induction = 0, rest = 0;
    for (const heads::AttributedPart& part : answer.attribution.parts)
      (contains(found.induction, part.part) ? induction : rest) += part.value;
    EXPECT_NEAR(induction + rest, answer.attribution.measured, 1e-3) << "all of it is told";
    EXPECT_GT(induction, 0.6 * answer.attribution.measured);
    EXPECT_LT(std::abs(rest), induction);
    const auto largest =
        std::ranges::max_element(answer.attribution.parts, {}, &heads::AttributedPart::value);
    EXPECT_TRUE(contains(found.induction, largest->part)) << largest->part;
  }
}

}  // namespace
}  // namespace headlight::recipes
