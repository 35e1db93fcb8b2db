// Models that have lost heads give what gated ones give, in every family.
#include <functional>
#include <numeric>
#include <set>

#include "headlight/heads/heads.h"
#include "tests/models/support.h"
#include "tests/nn/block_model.h"

namespace headlight::heads {
namespace {

using autograd::Context;
using autograd::Value;
using models::Batch;
using models::distance;
using models::error_of;
using models::expect_has;
using models::largest;
using models::Model;
using models::same_bits;
using nn::HeadNumbers;
using tensor::Shape;
using tensor::Tensor;

// A kind of models with random numbers, and inputs for it.
struct Family {
  std::string name;
  std::function<std::unique_ptr<Model>()> make;
};

std::ostream& operator<<(std::ostream& out, const Family& family) { return out << family.name; }

std::unique_ptr<Model> block_model(const nn::Design& design) {
  auto model = std::make_unique<nn::BlockModel>(design);
  nn::fill_in(model->parameters(), 3);
  return model;
}

template <class M, class Config>
std::unique_ptr<Model> filled(const Config& config) {
  auto model = std::make_unique<M>(config);
  models::fill(*model, 3);
  return model;
}

// Finite differences need an activation without a corner.
models::Seq2SeqConfig smooth_seq2seq() {
  models::Seq2SeqConfig config = models::small_seq2seq();
  config.activation = nn::Activation::gelu;
  return config;
}

models::Seq2SeqConfig wide_heads() {
  models::Seq2SeqConfig config = smooth_seq2seq();
  config.head_dim = 5;
  config.normalize_before = config.final_layer_norm = true;
  return config;
}

models::GptConfig without_biases() {
  models::GptConfig config = models::small_gpt();
  config.bias = false;
  config.tied_head = false;
  return config;
}

const std::vector<Family>& families() {
  static const std::vector<Family> all = {
      {"gpt", [] { return filled<models::Gpt>(models::small_gpt()); }},
      {"gpt_without_biases", [] { return filled<models::Gpt>(without_biases()); }},
      {"bert", [] { return filled<models::Bert>(models::small_bert()); }},
      {"seq2seq", [] { return filled<models::Seq2Seq>(smooth_seq2seq()); }},
      {"seq2seq_of_wide_heads", [] { return filled<models::Seq2Seq>(wide_heads()); }},
      {"rotary_and_grouped", [] { return block_model(nn::rotary_and_grouped()); }},
      {"parallel_and_partial", [] { return block_model(nn::parallel_and_partial()); }},
      {"with_slopes", [] { return block_model(nn::with_slopes()); }},
      {"with_buckets", [] { return block_model(nn::with_buckets()); }},
      {"with_windows", [] { return block_model(nn::with_windows()); }}};
  return all;
}

// These, and the families of other programs whose layers have weights of their own.
std::vector<Family> all_families() {
  std::vector<Family> all = families();
  for (const std::string& family : models::golden_families()) {
    if (family == "albert") continue;
    all.push_back({family, [family] {
                     return models::load_model(base::real_files(), models::golden_folder(family));
                   }});
  }
  return all;
}

Batch drawn_batch(const Model& model, uint64_t seed) {
  const base::Random random(seed);
  const auto tokens = static_cast<int64_t>(1 + random.below(1, 7));
  Batch batch{.ids = models::random_ids({1, tokens}, model.vocab_size(), base::mix(seed, 2))};
  if (model.capabilities().translates) {
    const auto source = static_cast<int64_t>(1 + random.below(2, 7));
    batch.source_ids =
        models::random_ids({1, source}, model.source_vocab_size(), base::mix(seed, 4));
  }
  batch.targets = models::random_ids({1, tokens}, model.vocab_size(), base::mix(seed, 6));
  return batch;
}

// Some of the heads, never all: each by chance and now and then all of an attention.
std::vector<HeadName> drawn_heads(const Model& model, uint64_t seed) {
  const base::Random random(seed);
  uint64_t draw = 0;
  std::vector<HeadName> removed;
  for (const nn::MultiHeadAttention* attention : models::attentions_of(model)) {
    const bool all = random.below(draw++, 4) == 0;
    for (const int64_t head : attention->heads().numbers) {
      if (all || random.below(draw++, 2) == 0) {
        removed.push_back({attention->options().place, head});
      }
    }
  }
  if (removed.size() == heads_of(model).size()) removed.pop_back();
  return removed;
}

class PrunedModel : public models::ModelTest, public testing::WithParamInterface<Family> {
 protected:
  Tensor logits(const Model& model, const Batch& batch, autograd::Intervention* off = nullptr) {
    Context context = inference_context();
    context.intervention = off;
    return autograd::copy_of(context, model.logits(context, model.forward(context, batch)).data());
  }

  void expect_twins(const Model& whole, const Model& pruned, const std::vector<HeadName>& removed,
                    uint64_t inputs, uint64_t seed) {
    HeadsOff off(removed, whole);
    float change = 0;  // that the heads made which are gone
    for (uint64_t i = 0; i < inputs; ++i) {
      const Batch batch = drawn_batch(whole, base::mix(seed, i));
      const Tensor gated = logits(whole, batch, &off);
      ASSERT_LE(distance(gated, logits(pruned, batch)), 1e-5F)
          << "input " << i << " of seed " << seed;
      change = std::max(change, distance(gated, logits(whole, batch)));
    }
    EXPECT_EQ(change > 1e-3F, !removed.empty());
  }
};

TEST_P(PrunedModel, gives_what_the_gated_one_gives) {
  const std::unique_ptr<Model> whole = GetParam().make();
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const std::vector<HeadName> removed = drawn_heads(*whole, seed);
    expect_twins(*whole, *pruned_model(*whole, removed), removed, 10, seed);
    expect_twins(*whole, *silenced_model(*whole, removed), removed, 3, seed);
  }
}

class PrunedModelOnManyInputs : public PrunedModel {};

TEST_P(PrunedModelOnManyInputs, gives_what_the_gated_one_gives_on_a_thousand_inputs) {
  const std::unique_ptr<Model> whole = GetParam().make();
  for (uint64_t seed = 100; seed < 150; ++seed) {
    const std::vector<HeadName> removed = drawn_heads(*whole, seed);
    expect_twins(*whole, *pruned_model(*whole, removed), removed, 20, seed);
  }
}

TEST_P(PrunedModel, may_lose_all_heads_of_a_layer_or_all_but_one) {
  const std::unique_ptr<Model> whole = GetParam().make();
  std::vector<HeadName> removed = heads_of(*whole);
  removed.pop_back();
  const std::unique_ptr<Model> last = pruned_model(*whole, removed);
  EXPECT_EQ(heads_of(*last).size(), 1U);
  expect_twins(*whole, *last, removed, 3, 1);
  removed.clear();
  const std::string place = models::attentions_of(*whole).front()->options().place;
  for (const HeadName& head : heads_of(*whole)) {
    if (head.place == place) removed.push_back(head);
  }
  expect_twins(*whole, *pruned_model(*whole, removed), removed, 3, 2);
}

TEST_P(PrunedModel, is_the_same_whether_heads_go_at_once_or_one_by_one) {
  const std::unique_ptr<Model> whole = GetParam().make();
  const std::vector<HeadName> removed = drawn_heads(*whole, 7);
  std::unique_ptr<Model> step = pruned_model(*whole, {});
  for (const HeadName& head : removed) step = pruned_model(*step, {head});
  const std::unique_ptr<Model> at_once = pruned_model(*whole, removed);
  const nn::Parameters one = step->parameters();
  const nn::Parameters other = at_once->parameters();
  ASSERT_EQ(one.size(), other.size());
  for (size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i]->name(), other[i]->name());
    EXPECT_TRUE(same_bits(one[i]->value().data(), other[i]->value().data())) << one[i]->name();
  }
  EXPECT_EQ(models::heads_left_of(*step), models::heads_left_of(*at_once));
}

TEST_P(PrunedModel, shares_no_numbers_with_the_whole_one) {
  const std::unique_ptr<Model> whole = GetParam().make();
  std::set<const void*> memory;
  for (const nn::ParameterHandle& one : whole->parameters()) {
    memory.insert(one->value().data().memory());
  }
  for (const auto& copy : {pruned_model(*whole, {}), silenced_model(*whole, {})}) {
    for (const nn::ParameterHandle& one : copy->parameters()) {
      EXPECT_FALSE(memory.contains(one->value().data().memory())) << one->name();
    }
  }
}

TEST_P(PrunedModel, decodes_with_a_cache_to_the_bits_of_whole_runs) {
  const std::unique_ptr<Model> whole = GetParam().make();
  const models::Capabilities can = whole->capabilities();
  if (!can.continues_prompt && !can.translates) GTEST_SKIP() << "writes nothing";
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const std::unique_ptr<Model> model = pruned_model(*whole, drawn_heads(*whole, seed));
    Context context = inference_context();
    Batch batch{.ids = models::random_ids({2, 6}, model->vocab_size(), seed)};
    if (can.translates) batch.source_ids = models::random_ids({2, 5}, model->vocab_size(), 9);
    models::Decoding decoding = model->start(context, Batch{.source_ids = batch.source_ids});
    for (int64_t read = 0; read < 6;) {
      const int64_t count = read == 0 ? 3 : 1;
      const Tensor cached = decoding.read(context, batch.ids.slice(1, read, count).contiguous());
      read += count;
      Batch so_far = batch;
      so_far.ids = batch.ids.slice(1, 0, read).contiguous();
      EXPECT_TRUE(same_bits(cached, model->next_logits(context, so_far))) << "after " << read;
      if (read == 4) {  // the second sequence alone, twice
        const std::vector<int64_t> chosen = {1, 1};
        decoding.select(chosen);
        const auto twice = [](const Tensor& ids) {
          std::vector<int64_t> rows;
          for (int copy = 0; copy < 2; ++copy) {
            rows.insert(rows.end(), ids.data<int64_t>() + ids.size(1),
                        ids.data<int64_t>() + 2 * ids.size(1));
          }
          return Tensor::of(ids.shape(), rows);
        };
        batch.ids = twice(batch.ids);
        if (batch.source_ids.defined()) batch.source_ids = twice(batch.source_ids);
      }
    }
  }
}

TEST_P(PrunedModel, learns_what_the_gated_one_learns) {
  const std::unique_ptr<Model> whole = GetParam().make();
  const std::vector<HeadName> removed = drawn_heads(*whole, 3);
  const std::unique_ptr<Model> pruned = pruned_model(*whole, removed);
  const Batch batch = drawn_batch(*whole, 5);
  HeadsOff off(removed, *whole);
  Context context = recording_context();
  tape_.backward(context, pruned->loss(context, batch));
  context.intervention = &off;
  tape_.backward(context, whole->loss(context, batch));
  std::map<std::string, Tensor> expected;
  float most = 0;
  for (const nn::ParameterHandle& one : whole->parameters()) {
    if (!one->grad().defined()) continue;
    expected[one->name()] = one->grad().contiguous();
    most = std::max(most, largest(one->grad()));
  }
  for (const nn::ParameterHandle& one : pruned->parameters()) {
    const Tensor& whole_gradient = expected[one->name()];
    if (!whole_gradient.defined() || whole_gradient.shape() != one->shape()) continue;
    if (!one->grad().defined()) {  // nobody reads what is normalised for heads that are gone
      EXPECT_LE(largest(whole_gradient), 2e-5F * most) << one->name();
      continue;
    }
    EXPECT_LE(distance(one->grad(), whole_gradient), 2e-5F * most) << one->name();
  }
}

TEST_P(PrunedModel, shows_heads_under_the_numbers_that_they_had) {
  const std::unique_ptr<Model> whole = GetParam().make();
  const std::vector<HeadName> removed = drawn_heads(*whole, 2);
  const std::unique_ptr<Model> pruned = pruned_model(*whole, removed);
  const Batch batch = drawn_batch(*whole, 5);
  HeadsOff off(removed, *whole);
  models::Keeper of_whole, of_pruned;
  Context context = inference_context();
  context.observer = &of_pruned;
  pruned->forward(context, batch);
  context.observer = &of_whole;
  context.intervention = &off;
  whole->forward(context, batch);
  const std::vector<HeadName> left = heads_of(*pruned);
  for (const HeadName& head : heads_of(*whole)) {
    const bool stays = std::ranges::find(left, head) != left.end();
    for (const char* tensor : {".weights", ".query", ".key", ".head_output"}) {
      const std::string name = head.place + ".head." + std::to_string(head.head) + tensor;
      EXPECT_EQ(of_pruned.seen.contains(name), stays) << name;
      if (!stays) continue;
      EXPECT_LE(distance(of_pruned.seen[name], of_whole.seen[name]), 1e-5F) << name;
    }
  }
  for (const nn::MultiHeadAttention* attention : models::attentions_of(*pruned)) {
    const std::string output = attention->options().place + ".output";
    ASSERT_LE(distance(of_pruned.seen[output], of_whole.seen[output]), 1e-5F) << output;
  }
}

// Four points around 1, so that what is left of the step's error is of its fourth power.
double slope_of(const std::function<double(float gate)>& loss) {
  constexpr float kStep = 0.01F;
  return (8 * (loss(1 + kStep) - loss(1 - kStep)) - (loss(1 + 2 * kStep) - loss(1 - 2 * kStep))) /
         (12 * static_cast<double>(kStep));
}

TEST_P(PrunedModel, has_gate_gradients_that_equal_finite_differences) {
  const std::unique_ptr<Model> whole = GetParam().make();
  for (const auto& model :
       {pruned_model(*whole, {}), pruned_model(*whole, drawn_heads(*whole, 4))}) {
    const Batch batch = drawn_batch(*model, 8);
    std::vector<Value> gates;
    for (nn::MultiHeadAttention* attention : model->attentions()) {
      const auto count = static_cast<size_t>(attention->heads().count());
      gates.push_back(Value::leaf(
          Tensor::of({attention->heads().count()}, std::vector<float>(count, 1.0F)), true));
      attention->set_gates(gates.back());
    }
    Context context = recording_context();
    tape_.backward(context, model->loss(context, batch));
    float most = 0;
    for (const Value& gate : gates) {
      if (gate.size(0) > 0) most = std::max(most, largest(gate.grad()));
    }
    Context quiet = inference_context();
    size_t checked = 0;
    for (const Value& of_attention : gates) {
      for (int64_t head = 0; head < of_attention.size(0); ++head) {
        float* gate = const_cast<float*>(of_attention.data().data<float>()) + head;
        const double slope = slope_of([&](float value) {
          *gate = value;
          return static_cast<double>(model->loss(quiet, batch).item());
        });
        *gate = 1;
        EXPECT_NEAR(of_attention.grad().data<float>()[head], slope, 2e-3 * most + 1e-4);
        ++checked;
      }
    }
    EXPECT_EQ(checked, heads_of(*model).size());
  }
}

TEST_P(PrunedModel, keeps_gates_that_are_set) {
  const std::unique_ptr<Model> whole = GetParam().make();
  float next = 0.3F;
  for (nn::MultiHeadAttention* attention : whole->attentions()) {
    std::vector<float> gates;
    for (int64_t i = 0; i < attention->heads().count(); ++i) gates.push_back(next += 0.1F);
    attention->set_gates(Value::leaf(Tensor::of({attention->heads().count()}, gates)));
  }
  const std::vector<HeadName> removed = drawn_heads(*whole, 1);
  expect_twins(*whole, *pruned_model(*whole, removed), removed, 3, 4);
}

INSTANTIATE_TEST_SUITE_P(Families, PrunedModel, testing::ValuesIn(all_families()),
                         [](const auto& info) { return std::string(info.param.name); });
INSTANTIATE_TEST_SUITE_P(LongFamilies, PrunedModelOnManyInputs, testing::ValuesIn(families()),
                         [](const auto& info) { return std::string(info.param.name); });

class PrunedGpt : public models::ModelTest {
 protected:
  PrunedGpt() { models::fill(model_, 3); }
  models::Gpt model_{models::small_gpt()};
};

TEST_F(PrunedGpt, has_fewer_columns_and_rows) {
  const auto smaller =
      pruned_model(model_, parse_head_names("decoder.0.self.1,decoder.0.self.3", "x"));
  const nn::StateDict state = smaller->state();
  EXPECT_EQ(state.at("transformer.h.0.attn.c_attn.weight").shape(), (Shape{24, 36}));
  EXPECT_EQ(state.at("transformer.h.0.attn.c_attn.bias").shape(), (Shape{36}));
  EXPECT_EQ(state.at("transformer.h.0.attn.c_proj.weight").shape(), (Shape{12, 24}));
  EXPECT_EQ(state.at("transformer.h.1.attn.c_attn.weight").shape(), (Shape{24, 72}));
  EXPECT_EQ(models::heads_left_of(*smaller),
            (models::HeadsLeft{{"decoder.0.self", HeadNumbers{0, 2}}}));
  expect_has(io::json_text(smaller->config()), R"("headlight_heads":{"decoder.0.self":[0,2]})");
}

TEST_F(PrunedGpt, of_the_same_shape_has_zeros_and_its_configuration) {
  const auto silenced = silenced_model(model_, {{"decoder.1.self", 2}});
  EXPECT_EQ(io::json_text(silenced->config()), io::json_text(model_.config()));
  const Tensor weight = silenced->state().at("transformer.h.1.attn.c_proj.weight");
  const Tensor before = model_.state().at("transformer.h.1.attn.c_proj.weight");
  for (int64_t row = 0; row < 24; ++row) {
    for (int64_t column = 0; column < 24; ++column) {
      const float expected = row / 6 == 2 ? 0 : before.data<float>()[row * 24 + column];
      ASSERT_EQ(weight.data<float>()[row * 24 + column], expected);
    }
  }
}

TEST_F(PrunedGpt, refuses_heads_that_are_not_there) {
  const auto refused = [](const Model& model, const std::string& names) {
    return error_of([&] { pruned_model(model, parse_head_names(names, "heads")); });
  };
  expect_has(refused(model_, "decoder.2.self.0"),
             "prune heads (\"decoder.2.self\"): the model has no such attention; the nearest is");
  expect_has(refused(model_, "decoder.0.self.4"), "there is no head 4 among 4");
  std::string all;
  for (const HeadName& head : heads_of(model_)) all += (all.empty() ? "" : ",") + head.text();
  expect_has(refused(model_, all), "all 8 heads would go, at least one must stay");
  expect_has(error_of([&] { silenced_model(model_, heads_of(model_)); }), "all 8 heads would go");
  const auto smaller =
      pruned_model(model_, parse_head_names("decoder.0.self.1,decoder.0.self.3", "x"));
  expect_has(refused(*smaller, "decoder.0.self.1"),
             "(\"decoder.0.self\"): head 1 was pruned; left are 0, 2");
  EXPECT_EQ(refused(*smaller, "decoder.0.self.0,decoder.0.self.2,decoder.0.self.0"), "");
}

TEST_F(PrunedGpt, switches_heads_off_by_their_old_numbers) {
  const auto smaller =
      pruned_model(model_, parse_head_names("decoder.0.self.0,decoder.0.self.1", "x"));
  const Batch batch{.ids = models::integers({1, 3}, {1, 2, 3})};
  Context context = inference_context();
  HeadsOff off({{"decoder.0.self", 3}}, *smaller);
  context.intervention = &off;
  const Tensor without = autograd::copy_of(context, smaller->forward(context, batch).data());
  const auto smallest = pruned_model(*smaller, {{"decoder.0.self", 3}});
  context.intervention = nullptr;
  EXPECT_LE(distance(without, smallest->forward(context, batch).data()), 1e-5F);
  expect_has(error_of([&] {
               HeadsOff({{"decoder.0.self", 1}}, *smaller, "--heads-off");
             }),
             "--heads-off (\"decoder.0.self\"): head 1 was pruned; left are 2, 3");
}

TEST_F(PrunedGpt, is_measured_head_by_head_under_old_names) {
  const auto smaller =
      pruned_model(model_, parse_head_names("decoder.0.self.0,decoder.1.self.0,decoder.1.self.1,"
                                            "decoder.1.self.2,decoder.1.self.3",
                                            "x"));
  const Batch batch{.ids = models::integers({1, 5}, {1, 2, 3, 4, 5})};
  autograd::Recording recording;
  Context context = inference_context();
  context.observer = &recording;
  smaller->forward(context, batch);
  std::vector<std::string> names;
  for (const HeadStatistics& one : head_statistics(threads_, recording, batch)) {
    names.push_back(one.name());
    EXPECT_LE(one.output_difference, 1e-5);
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"decoder.0.self.1", "decoder.0.self.2", "decoder.0.self.3"}));
}

TEST_F(PrunedGpt, finds_the_head_in_the_name_of_a_tensor) {
  EXPECT_EQ(head_of_tensor("decoder.0.self.head.2.weights"), (HeadName{"decoder.0.self", 2}));
  EXPECT_EQ(head_of_tensor("decoder.0.self.weights"), std::nullopt);
  EXPECT_EQ(head_of_tensor("decoder.0.self.head.x.weights"), std::nullopt);
}

}  // namespace
}  // namespace headlight::heads
