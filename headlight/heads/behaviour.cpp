// Sequences of repeated tokens, and the stripes of attention that they are to light up.
#include "headlight/heads/behaviour.h"

#include <algorithm>
#include <limits>
#include <set>

#include "headlight/heads/attention_observer.h"

namespace headlight::heads {
namespace {

using tensor::Tensor;

// What sequences of one side are made of.
struct Alphabet {
  std::vector<int64_t> ids = {};  // that may be drawn
  MadeTokens made = {};
  int64_t context = 0;
};

Alphabet alphabet_of(const models::Model& model, const MadeTokens& made, bool is_source) {
  const models::SpecialIds& special = model.special_ids();
  std::set<int64_t> avoided(made.avoid.begin(), made.avoid.end());
  for (const auto& id : {special.padding, special.begin, special.end, special.decoder_start}) {
    if (id) avoided.insert(*id);
  }
  avoided.insert(special.other_ends.begin(), special.other_ends.end());
  avoided.insert(made.before.begin(), made.before.end());
  avoided.insert(made.after.begin(), made.after.end());
  Alphabet result{.made = made, .context = model.context_length()};
  const int64_t count = is_source ? model.source_vocab_size() : model.vocab_size();
  for (int64_t id = 0; id < count; ++id) {
    if (!avoided.contains(id)) result.ids.push_back(id);
  }
  const bool starts = model.capabilities().translates && !is_source && made.before.empty();
  if (starts && special.decoder_start) result.made.before = {*special.decoder_start};
  return result;
}

// `count` different ones, each choice as likely.
std::vector<int64_t> drawn_ids(std::vector<int64_t> ids, int64_t count, uint64_t key) {
  const base::Random random(key);
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    std::swap(ids[i], ids[i + random.below(i, ids.size() - i)]);
  }
  ids.resize(static_cast<size_t>(count));
  return ids;
}

struct SequencePlan {
  int64_t sequences = 0;
  int64_t tokens = 0;
  int64_t copies = 0;
  uint64_t key = 0;
};

// Nothing where two tokens do not fit.
std::optional<MadeSequences> make_sequences(const Alphabet& alphabet, const SequencePlan& plan) {
  const MadeTokens& made = alphabet.made;
  const auto frame = static_cast<int64_t>(made.before.size() + made.after.size());
  const int64_t period = std::min({plan.tokens, (alphabet.context - frame) / plan.copies,
                                   static_cast<int64_t>(alphabet.ids.size())});
  if (period < 2 || plan.sequences < 1) return {};
  std::vector<int64_t> all;
  for (int64_t i = 0; i < plan.sequences; ++i) {
    const std::vector<int64_t> one =
        drawn_ids(alphabet.ids, period, base::mix(plan.key, static_cast<uint64_t>(i)));
    all.insert(all.end(), made.before.begin(), made.before.end());
    for (int64_t copy = 0; copy < plan.copies; ++copy)
      all.insert(all.end(), one.begin(), one.end());
    all.insert(all.end(), made.after.begin(), made.after.end());
  }
  return MadeSequences{period, plan.copies, static_cast<int64_t>(made.before.size()),
                       Tensor::of({plan.sequences, frame + plan.copies * period}, all)};
}

// The mean over rows of what some keys get.
class Stripe {
 public:
  // `keys` are those of the row that count, of which it may see some.
  void add(const float* weights, const float* masked, int64_t key_count,
           const std::vector<int64_t>& keys) {
    const auto is_seen = [masked](int64_t key) {
      return masked[key] != -std::numeric_limits<float>::infinity();
    };
    int64_t seen = 0;
    for (int64_t key = 0; key < key_count; ++key) seen += is_seen(key);
    for (const int64_t key : keys) {
      value_ += weights[key];
      if (is_seen(key)) uniform_ += 1 / static_cast<double>(seen);
    }
    ++rows_;
  }
  std::optional<BehaviourScore> score() const {
    if (rows_ == 0) return {};
    return BehaviourScore{value_ / static_cast<double>(rows_),
                          uniform_ / static_cast<double>(rows_)};
  }

 private:
  double value_ = 0;
  double uniform_ = 0;
  int64_t rows_ = 0;
};

struct Stripes {
  Stripe previous, duplicate, induction, prefix_matching;
};

// One head's weights on sequences.
Stripes stripes_of(base::ThreadPool& threads, const SeenAttention& attention, int64_t head,
                   const MadeSequences& made) {
  const Tensor weights = attention.stage(threads, kernels::ScoreStage::weights, head);
  const Tensor masked = attention.stage(threads, kernels::ScoreStage::masked, head);
  const int64_t keys = weights.size(2);
  const int64_t n = made.period;
  Stripes stripes;
  for (int64_t b = 0; b < attention.batch; ++b) {
    for (int64_t at = 1; at < made.copies * n; ++at) {
      const int64_t i = made.first + at;
      const float* row = weights.data<float>() + (b * attention.queries + i) * keys;
      const float* scores = masked.data<float>() + (b * attention.queries + i) * keys;
      stripes.previous.add(row, scores, keys, {i - 1});
      if (at < n) continue;
      stripes.duplicate.add(row, scores, keys, {i - n});
      stripes.induction.add(row, scores, keys, {i - n + 1});
      std::vector<int64_t> followers;
      for (int64_t copy = 1; copy <= at / n; ++copy) followers.push_back(i - copy * n + 1);
      stripes.prefix_matching.add(row, scores, keys, followers);
    }
  }
  return stripes;
}

// Which of two sets of sequences a run is on.
enum class Copies { two, several };

void write_scores(const Stripes& stripes, Copies copies, bool causal, Behaviour& to) {
  if (copies == Copies::several) {
    if (causal) to.prefix_matching = stripes.prefix_matching.score();
    return;
  }
  to.previous = stripes.previous.score();
  to.duplicate = stripes.duplicate.score();
  if (causal) to.induction = stripes.induction.score();
}

}  // namespace

std::optional<HeadRole> clear_role(const Behaviour& behaviour) {
  constexpr double kClear = 0.5;
  const auto is_clear = [](const std::optional<BehaviourScore>& score) {
    return score && score->value >= kClear && score->value > score->uniform;
  };
  if (is_clear(behaviour.induction)) return HeadRole::induction;
  if (is_clear(behaviour.duplicate)) return HeadRole::duplicate;
  return std::nullopt;
}

BehaviourResult measure_behaviour(base::ThreadPool& threads, const models::Model& model,
                                  const BehaviourOptions& options) {
  BehaviourResult result;
  const bool translates = model.capabilities().translates;
  const Alphabet words = alphabet_of(model, options.made, false);
  const Alphabet source_words = alphabet_of(model, options.source, true);
  for (const Copies copies : {Copies::two, Copies::several}) {
    const bool is_two = copies == Copies::two;
    const uint64_t key = base::mix(options.seed, base::name_key(is_two ? "two" : "several"));
    SequencePlan plan{options.sequences, is_two ? options.tokens : options.prefix_tokens,
                      is_two ? 2 : options.copies, key};
    const std::optional<MadeSequences> made = make_sequences(words, plan);
    plan.key = base::mix(key, base::name_key("source"));
    std::optional<MadeSequences> source;
    if (translates) source = make_sequences(source_words, plan);
    if (!made || (translates && !source)) continue;
    result.sequences.push_back(*made);
    if (source) result.source_sequences.push_back(*source);
    const models::Batch batch{.ids = made->ids, .source_ids = source ? source->ids : Tensor()};
    AttentionObserver observer([&](const SeenAttention& attention) {
      std::vector<Behaviour>& heads = result.heads[attention.place];
      heads.resize(static_cast<size_t>(attention.heads));
      if (is_cross(attention.place)) return;
      const MadeSequences& read = reads_source(attention.place, batch) ? *source : *made;
      threads.parallel_for(attention.heads, [&](int64_t head, int /*worker*/) {
        write_scores(stripes_of(threads, attention, head, read), copies, attention.causal,
                     heads[static_cast<size_t>(head)]);
      });
    });
    tensor::Arena arena;
    autograd::Context context{.threads = threads, .arena = arena, .observer = &observer};
    model.forward(context, batch);
  }
  return result;
}

}  // namespace headlight::heads
