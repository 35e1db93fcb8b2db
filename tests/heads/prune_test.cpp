// Models that lose heads: what is chosen, removed, trained on and measured.
#include <algorithm>

#include "headlight/heads/heads.h"
#include "headlight/optim/optim.h"
#include "tests/heads/repeated_tokens.h"

namespace headlight::heads {
namespace {

using models::Batch;
using models::distance;
using models::error_of;
using models::expect_has;
using tensor::Tensor;

class PruneHeads : public testing::Test {
 protected:
  PruneHeads() {
    models::fill(gpt_, 3);
    examples_ = {{.ids = models::random_ids({3, 9}, gpt_.vocab_size(), 1),
                  .targets = models::random_ids({3, 9}, gpt_.vocab_size(), 2)}};
  }

  Tensor logits(const models::Model& model, autograd::Intervention* off = nullptr) {
    tensor::Arena arena;
    autograd::Context context{.threads = threads_, .arena = arena, .intervention = off};
    return autograd::copy_of(context,
                             model.logits(context, model.forward(context, examples_[0])).data());
  }

  // A few steps down the gradient of the examples' loss.
  FineTuning descent(int64_t steps) {
    return [this, steps](models::Model& model, const Watch& watch) {
      optim::Optimizer optimizer(model.parameters(), {.weight_decay = 0});
      tensor::Arena arena;
      for (int64_t i = 0; i < steps; ++i) {
        if (watch.stops()) return false;
        autograd::Tape tape;
        autograd::Context context{.threads = threads_, .arena = arena, .tape = &tape};
        tape.backward(context, model.loss(context, examples_[0]));
        optimizer.step({threads_, arena}, 1e-2);
        optimizer.clear_gradients();
      }
      return true;
    };
  }

  base::ThreadPool threads_{2};
  models::Gpt gpt_{models::small_gpt()};
  Examples examples_;
};

TEST_F(PruneHeads, keeps_the_rounded_share_and_gives_what_the_gated_model_gives) {
  const auto all = static_cast<int64_t>(heads_of(gpt_).size());
  for (const double keep : {0.2, 0.5, 0.7, 1.0}) {
    for (const bool same_shape : {false, true}) {
      const PruneResult result =
          prune_heads(threads_, gpt_, examples_,
                      {.keep = keep, .same_shape = same_shape, .measured_on = &examples_});
      EXPECT_EQ(result.heads, all);
      EXPECT_EQ(result.kept(), rounded_share(keep, all));
      EXPECT_EQ(static_cast<int64_t>(heads_of(*result.model).size()),
                same_shape ? all : result.kept());
      std::vector<HeadName> removed;
      for (const RemovedHead& one : result.removed) removed.push_back(one.head);
      HeadsOff off(removed, gpt_);
      EXPECT_LE(distance(logits(gpt_, &off), logits(*result.model)), 1e-5F);
      EXPECT_NEAR(result.before->loss, measure_model(threads_, gpt_, examples_)->loss, 1e-12);
      EXPECT_NEAR(result.pruned->loss, measure_model(threads_, *result.model, examples_)->loss,
                  1e-12);
      EXPECT_FALSE(result.finetuned);
      EXPECT_EQ(result.parameters_before, number_count(gpt_));
      EXPECT_EQ(result.parameters_after, number_count(*result.model));
      if (same_shape || keep == 1) {
        EXPECT_EQ(result.parameters_after, result.parameters_before);
      } else {
        EXPECT_LT(result.parameters_after, result.parameters_before);
      }
    }
  }
}

TEST_F(PruneHeads, takes_heads_by_name_without_examples) {
  const PruneResult result = prune_heads(
      threads_, gpt_, {},
      {.heads_off = parse_head_names("decoder.1.self.0,decoder.0.self.1,decoder.1.self.0", "x")});
  ASSERT_EQ(result.removed.size(), 2u);
  EXPECT_FALSE(result.by);
  EXPECT_FALSE(result.before);
  EXPECT_EQ(result.removed[0].head.text(), "decoder.1.self.0");
  EXPECT_FALSE(find_head(*result.model, {"decoder.0.self", 0}, "x").attention->heads().place_of(1));
  expect_has(error_of([&] {
               prune_heads(threads_, gpt_, {}, {.heads_off = {{"decoder.0.self", 77}}});
             }),
             "decoder.0.self");
}

TEST_F(PruneHeads, may_empty_a_layer_but_not_a_model) {
  std::string layer;
  std::string all;
  for (const HeadName& head : heads_of(gpt_)) {
    std::string& to = head.place == "decoder.0.self" ? layer : all;
    to += (to.empty() ? "" : ",") + head.text();
  }
  const PruneResult result =
      prune_heads(threads_, gpt_, {}, {.heads_off = parse_head_names(layer, "x")});
  EXPECT_EQ(result.model->attentions()[0]->heads().count(), 0);
  expect_has(error_of([&] {
               prune_heads(threads_, gpt_, {},
                           {.heads_off = parse_head_names(layer + "," + all, "x")});
             }),
             "at least one must stay");
  expect_has(error_of([&] { prune_heads(threads_, gpt_, examples_, {.keep = 0}); },
                      base::ErrorKind::usage),
             "above 0");
}

TEST_F(PruneHeads, trains_the_smaller_model_on) {
  for (const bool same_shape : {false, true}) {
    const PruneResult result = prune_heads(threads_, gpt_, examples_,
                                           {.keep = 0.5,
                                            .same_shape = same_shape,
                                            .finetune = descent(12),
                                            .measured_on = &examples_});
    ASSERT_TRUE(result.finetuned);
    EXPECT_LT(result.finetuned->loss, result.pruned->loss - 0.1);
    EXPECT_NEAR(result.finetuned->loss, measure_model(threads_, *result.model, examples_)->loss,
                1e-12)
        << "without any gates";
    for (const nn::MultiHeadAttention* attention : result.model->attentions())
      EXPECT_FALSE(attention->gates().defined());
    if (!same_shape) continue;
    std::vector<HeadName> removed;
    for (const RemovedHead& one : result.removed) removed.push_back(one.head);
    HeadsOff off(removed, *result.model);
    EXPECT_EQ(distance(logits(*result.model, &off), logits(*result.model)), 0)
        << "what was silenced is silent still";
  }
}

TEST_F(PruneHeads, trained_on_is_the_same_in_both_shapes) {
  std::vector<double> losses;
  for (const bool same_shape : {false, true}) {
    losses.push_back(prune_heads(threads_, gpt_, examples_,
                                 {.keep = 0.5,
                                  .same_shape = same_shape,
                                  .finetune = descent(5),
                                  .measured_on = &examples_})
                         .finetuned->loss);
  }
  EXPECT_NEAR(losses[0], losses[1], 1e-4);
}

TEST_F(PruneHeads, measures_a_metric_beside_the_loss) {
  const auto model = induction_circuit();
  const Examples repeated = {repeated_batch(1), repeated_batch(2)};
  const auto whole = measure_model(threads_, *model, repeated, {.metric = exact_match_metric()});
  EXPECT_EQ(*whole->metric, 1);
  const auto broken =
      measure_model(threads_, *model, repeated,
                    {.metric = exact_match_metric(), .without = {{"decoder.0.self", 0}}});
  EXPECT_EQ(*broken->metric, 0);
  EXPECT_GT(broken->loss, 1);
  EXPECT_EQ(*measurement_json(*broken, "exact_match")[1].second.number(), 0);
}

TEST_F(PruneHeads, stops_when_it_is_told_to) {
  for (const int after : {0, 3, 9}) {
    int asked = 0;
    const PruneResult result =
        prune_heads(threads_, gpt_, examples_,
                    {.keep = 0.5,
                     .finetune = descent(20),
                     .measured_on = &examples_,
                     .watch = {.interrupted = [&] { return asked++ >= after; }}});
    EXPECT_TRUE(result.interrupted) << after;
    EXPECT_FALSE(result.model);
  }
}

TEST_F(PruneHeads, tells_how_far_it_is) {
  std::vector<double> shares;
  prune_heads(threads_, gpt_, examples_,
              {.keep = 0.5,
               .finetune = descent(4),
               .measured_on = &examples_,
               .watch = {.progress = [&](double share) { shares.push_back(share); }}});
  EXPECT_TRUE(std::ranges::is_sorted(shares));
  EXPECT_EQ(shares.back(), 1);
}

TEST_F(PruneHeads, is_told_as_json) {
  PruneResult result{.by = PruneMethod::gradient, .heads = 8};
  result.removed = {{.head = {"decoder.0.self", 3}, .round = 2, .score = 0.25},
                    {.head = {"decoder.1.self", 0}}};
  result.parameters_before = 100;
  result.parameters_after = 80;
  result.metric = "exact_match";
  result.before = Measurement{.loss = 0.5, .metric = 1};
  result.pruned = Measurement{.loss = 2, .metric = 0.25};
  EXPECT_EQ(io::json_text(prune_json(result)),
            R"({"by":"gradient","heads":8,"kept":6,"removed":[)"
            R"({"head":"decoder.0.self.3","round":2,"score":0.25},)"
            R"({"head":"decoder.1.self.0","round":1,"score":null}],"same_shape":false,)"
            R"("parameters":{"before":100,"after":80},"before":{"loss":0.5,"exact_match":1.0},)"
            R"("pruned":{"loss":2.0,"exact_match":0.25}})");
  result.by.reset();
  result.same_shape = true;
  result.before.reset();
  result.pruned.reset();
  result.finetuned = Measurement{.loss = 1.5};
  const io::Json named = prune_json(result);
  EXPECT_TRUE(named.find("by")->is_null());
  EXPECT_EQ(named.find("same_shape")->boolean(), true);
  EXPECT_EQ(named.find("before"), nullptr);
  EXPECT_EQ(named.find("finetuned")->find("loss")->number(), 1.5);
}

}  // namespace
}  // namespace headlight::heads
