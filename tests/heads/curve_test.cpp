// Curves of quality against heads removed: their ends, their bands, and going on after a stop.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "headlight/heads/heads.h"
#include "tests/heads/repeated_tokens.h"

namespace headlight::heads {
namespace {

using models::error_of;
using models::expect_has;

class PruneCurves : public testing::Test {
 protected:
  PruneCurves() {
    models::fill(translator_, 3);
    for (const uint64_t seed : {1, 2}) {
      examples_.push_back(
          {.ids = models::random_ids({2, 5}, translator_.vocab_size(), seed),
           .source_ids = models::random_ids({2, 6}, translator_.source_vocab_size(), seed + 4),
           .targets = models::random_ids({2, 5}, translator_.vocab_size(), seed + 8)});
    }
  }

  CurveOptions options() const {
    CurveOptions options{.methods = {PruneMethod::gradient, PruneMethod::random},
                         .shares = {0, 0.5, 1},
                         .random_orders = 10};
    options.removal.seed = 5;
    return options;
  }

  // The curve of a method, type and kind; it must be there.
  static const Curve& curve_of(const CurveResult& result, PruneMethod method,
                               const std::string& type, bool finetuned = false) {
    const auto found = std::ranges::find_if(result.curves, [&](const Curve& curve) {
      return curve.method == method && curve.type == type && curve.finetuned == finetuned;
    });
    EXPECT_TRUE(found != result.curves.end()) << name_of(method) << type;
    return *found;
  }

  base::ThreadPool threads_{2};
  models::Seq2Seq translator_{models::small_seq2seq()};
  Examples examples_;
};

TEST_F(PruneCurves, begin_with_the_whole_model_and_end_without_heads) {
  const CurveResult result = prune_curves(threads_, translator_, examples_, options());
  EXPECT_EQ(result.metric, "loss");
  EXPECT_FALSE(result.higher_is_better);
  EXPECT_EQ(result.examples, 4);
  EXPECT_EQ(result.curves.size(), 8u) << "two methods of four types";
  const double whole = measure_model(threads_, translator_, examples_)->loss;
  for (const std::string type : {"all", "encoder", "decoder", "cross"}) {
    const std::vector<HeadName> heads = heads_of_type(translator_, type);
    const double empty = measure_model(threads_, translator_, examples_, {.without = heads})->loss;
    for (const PruneMethod method : {PruneMethod::gradient, PruneMethod::random}) {
      const Curve& curve = curve_of(result, method, type);
      ASSERT_EQ(curve.points.size(), 3u);
      EXPECT_EQ(curve.orders, method == PruneMethod::random ? 10 : 1);
      EXPECT_EQ(curve.points[0].quality, whole) << "the mean of equal numbers is that number";
      EXPECT_NEAR(curve.points[2].quality, empty, 1e-6);
      EXPECT_EQ(curve.points[0].removed, 0);
      EXPECT_EQ(curve.points[2].removed, 1);
      EXPECT_EQ(curve.points[1].heads, rounded_share(0.5, static_cast<int64_t>(heads.size())));
      for (const CurvePoint& point : curve.points) {
        EXPECT_LE(point.low, point.quality);
        EXPECT_GE(point.high, point.quality);
        EXPECT_EQ(point.quality, point.loss);
      }
    }
    const CurvePoint& middle = curve_of(result, PruneMethod::random, type).points[1];
    EXPECT_LT(middle.low, middle.high) << "orders differ";
  }
}

TEST_F(PruneCurves, have_points_along_the_order_of_removal) {
  const CurveResult result = prune_curves(threads_, translator_, examples_, options());
  const std::vector<HeadName> cross = heads_of_type(translator_, "cross");
  const RemovalOrder order =
      removal_order(threads_, translator_, examples_,
                    {.count = static_cast<int64_t>(cross.size()), .among = cross, .seed = 5});
  const Curve& curve = curve_of(result, PruneMethod::gradient, "cross");
  const auto half = static_cast<size_t>(curve.points[1].heads);
  EXPECT_NEAR(curve.points[1].loss,
              measure_model(threads_, translator_, examples_, {.without = order.first(half)})->loss,
              1e-9);
}

TEST_F(PruneCurves, of_a_decoder_have_one_type) {
  const auto model = induction_circuit();
  EXPECT_EQ(head_types(*model), std::vector<std::string>{"all"});
  EXPECT_EQ(head_types(translator_),
            (std::vector<std::string>{"all", "encoder", "decoder", "cross"}));
  expect_has(error_of([&] { heads_of_type(*model, "cross"); }), "no such heads");
  expect_has(error_of([&] { heads_of_type(*model, "crass"); }, base::ErrorKind::usage),
             "nearest is cross");
}

TEST_F(PruneCurves, show_that_a_planted_circuit_breaks_when_its_own_heads_go) {
  const auto model = induction_circuit();
  const Examples repeated = {repeated_batch(1), repeated_batch(2)};
  CurveOptions options{.methods = {PruneMethod::gradient, PruneMethod::random},
                       .shares = {0, 0.25, 0.5, 0.75, 1},
                       .metric = exact_match_metric()};
  const CurveResult result = prune_curves(threads_, *model, repeated, options);
  EXPECT_EQ(result.metric, "exact_match");
  EXPECT_TRUE(result.higher_is_better);
  const Curve& curve = curve_of(result, PruneMethod::gradient, "all");
  std::vector<double> qualities;
  for (const CurvePoint& point : curve.points) qualities.push_back(point.quality);
  EXPECT_EQ(qualities, (std::vector<double>{1, 1, 1, 0, 0}));
  EXPECT_EQ(removable_share(curve, true, 0.005), 0.5);
  const Curve& random = curve_of(result, PruneMethod::random, "all");
  EXPECT_EQ(random.points[1].low, 0);
  EXPECT_EQ(random.points[1].high, 1);
  EXPECT_GT(random.points[1].quality, 0);
  EXPECT_LT(random.points[1].quality, 1);
}

// Quality and loss of random orders are means of what each of them has shown.
TEST_F(PruneCurves, of_random_orders_are_their_means_between_the_least_and_the_largest) {
  const auto model = induction_circuit();
  const Examples repeated = {repeated_batch(1), repeated_batch(2)};
  std::map<int64_t, std::vector<Measurement>> measured;  // by heads removed
  CurveOptions options{.methods = {PruneMethod::random},
                       .shares = {0.25, 0.5, 0.75},
                       .random_orders = 6,
                       .metric = exact_match_metric()};
  options.finished = [&](const std::string& part, const io::Json& json) {
    if (!part.starts_with("point random all ")) return;
    measured[std::stoll(part.substr(part.rfind(' ')))].push_back(
        {.loss = *json.find("loss")->number(), .metric = json.find("metric")->number()});
  };
  const CurveResult result = prune_curves(threads_, *model, repeated, options);
  for (const CurvePoint& point : curve_of(result, PruneMethod::random, "all").points) {
    const std::vector<Measurement>& orders = measured.at(point.heads);
    ASSERT_EQ(orders.size(), 6u);
    double loss = 0, quality = 0, low = 2, high = -1;
    for (const Measurement& one : orders) {
      loss += one.loss / 6;
      quality += *one.metric / 6;
      low = std::min(low, *one.metric);
      high = std::max(high, *one.metric);
    }
    EXPECT_NEAR(point.loss, loss, 1e-9);
    EXPECT_NEAR(point.quality, quality, 1e-9);
    EXPECT_EQ(point.low, low);
    EXPECT_EQ(point.high, high);
    EXPECT_EQ(point.removed, static_cast<double>(point.heads) / 4);
  }
}

TEST_F(PruneCurves, are_measured_on_other_examples_where_they_are_given) {
  const Examples others = {examples_[1]};
  CurveOptions options = this->options();
  options.methods = {PruneMethod::gradient};
  options.types = {"all"};
  options.shares = {0, 0.5};
  options.measured_on = &others;
  const CurveResult result = prune_curves(threads_, translator_, {examples_[0]}, options);
  EXPECT_EQ(result.examples, 2);
  EXPECT_EQ(result.curves.at(0).points.at(0).loss,
            measure_model(threads_, translator_, others)->loss);
  const RemovalOrder order = removal_order(threads_, translator_, {examples_[0]},
                                           {.count = result.curves[0].points.at(1).heads});
  EXPECT_NEAR(result.curves[0].points[1].loss,
              measure_model(threads_, translator_, others, {.without = order.first(99)})->loss,
              1e-9);
}

TEST_F(PruneCurves, of_losses_say_which_share_can_go) {
  Curve curve;
  for (const double loss : {1.0, 1.05, 1.2, 1.01}) {
    const auto at = static_cast<double>(curve.points.size());
    curve.points.push_back({.removed = at / 4, .quality = loss});
  }
  EXPECT_EQ(removable_share(curve, false, 0.1), 0.25) << "not beyond what is too bad";
  EXPECT_EQ(removable_share(curve, false, 0.5), 0.75);
  EXPECT_EQ(removable_share({}, false, 0.5), 0);
}

TEST_F(PruneCurves, after_fine_tuning_are_of_smaller_models) {
  CurveOptions options = this->options();
  options.types = {"all", "cross"};
  options.random_orders = 2;
  std::vector<size_t> sizes;
  options.finetune = [&](models::Model& model, const Watch&) {
    sizes.push_back(heads_of(model).size());
    return true;  // learns nothing
  };
  const CurveResult result = prune_curves(threads_, translator_, examples_, options);
  for (const PruneMethod method : {PruneMethod::gradient, PruneMethod::random}) {
    const Curve& all = curve_of(result, method, "all", true);
    EXPECT_EQ(all.points.size(), 2u) << "no model without any head";
    const Curve& cross = curve_of(result, method, "cross", true);
    const Curve& before = curve_of(result, method, "cross", false);
    ASSERT_EQ(cross.points.size(), 3u);
    for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(cross.points[i].loss, before.points[i].loss, 1e-5);
  }
  // The whole model once; of 3 orders, one point of all and two of cross.
  EXPECT_EQ(sizes.size(), 1u + 3 * 3);
}

TEST_F(PruneCurves, after_fine_tuning_are_of_what_was_learnt) {
  CurveOptions options = this->options();
  options.methods = {PruneMethod::gradient};
  options.types = {"all"};
  options.shares = {0, 0.5};
  options.finetune = [](models::Model& model, const Watch&) {
    for (const nn::ParameterHandle& parameter : model.parameters())
      parameter->assign(tensor::Tensor::zeros(tensor::DType::f32, parameter->shape()));
    return true;
  };
  const CurveResult result = prune_curves(threads_, translator_, examples_, options);
  const double of_zeros = std::log(static_cast<double>(translator_.vocab_size()));
  for (const CurvePoint& point : curve_of(result, PruneMethod::gradient, "all", true).points)
    EXPECT_NEAR(point.loss, of_zeros, 1e-5);
  for (const CurvePoint& point : curve_of(result, PruneMethod::gradient, "all").points)
    EXPECT_GT(std::abs(point.loss - of_zeros), 1e-3);
}

TEST_F(PruneCurves, go_on_where_they_were_interrupted) {
  CurveOptions options = this->options();
  options.types = {"all", "encoder"};
  options.random_orders = 3;
  options.finetune = [](models::Model&, const Watch& watch) { return !watch.stops(); };
  const CurveResult uninterrupted = prune_curves(threads_, translator_, examples_, options);
  std::map<std::string, io::Json> state;
  options.known = [&](const std::string& part) -> std::optional<io::Json> {
    const auto found = state.find(part);
    if (found == state.end()) return {};
    return io::parse_json(io::json_text(found->second), "state");
  };
  int rounds = 0;
  CurveResult result;
  do {
    size_t added = 0;
    options.finished = [&](const std::string& part, const io::Json& json) {
      EXPECT_TRUE(state.emplace(part, json).second) << part << " is done twice";
      ++added;
    };
    options.watch.interrupted = [&] { return added >= 4; };
    result = prune_curves(threads_, translator_, examples_, options);
    ASSERT_LT(++rounds, 40);
  } while (result.interrupted);
  EXPECT_GT(rounds, 3);
  EXPECT_EQ(io::json_text(curves_json(result)), io::json_text(curves_json(uninterrupted)));
}

TEST_F(PruneCurves, tell_how_far_they_are) {
  CurveOptions options = this->options();
  options.methods = {PruneMethod::gradient, PruneMethod::ablation, PruneMethod::random};
  options.random_orders = 2;
  options.finetune_steps = 3;
  options.finetune = [](models::Model&, const Watch& watch) {
    for (int64_t step = 1; step <= 3; ++step) watch.tell(step, 3);
    return true;
  };
  std::vector<double> shares;
  options.watch.progress = [&](double share) { shares.push_back(share); };
  prune_curves(threads_, translator_, examples_, options);
  EXPECT_TRUE(std::ranges::is_sorted(shares));
  EXPECT_GT(shares.size(), 30u);
  EXPECT_LT(shares.front(), 0.1);
  EXPECT_GT(shares.back(), 0.95);
  EXPECT_LE(shares.back(), 1 + 1e-9);
}

TEST_F(PruneCurves, refuse_shares_that_are_none) {
  CurveOptions options = this->options();
  options.shares = {0.5, 1.5};
  expect_has(error_of([&] { prune_curves(threads_, translator_, examples_, options); },
                      base::ErrorKind::usage),
             "from 0 to 1");
}

// Two of the same would be added up as if they were orders of one.
TEST_F(PruneCurves, refuse_methods_and_types_that_are_named_twice) {
  CurveOptions options = this->options();
  options.methods = {PruneMethod::gradient, PruneMethod::gradient};
  expect_has(error_of([&] { prune_curves(threads_, translator_, examples_, options); },
                      base::ErrorKind::usage),
             "gradient): is named twice");
  options = this->options();
  options.types = {"cross", "all", "cross"};
  expect_has(error_of([&] { prune_curves(threads_, translator_, examples_, options); },
                      base::ErrorKind::usage),
             "cross): is named twice");
}

TEST_F(PruneCurves, are_told_as_json) {
  const CurvePoint point{
      .heads = 3, .removed = 0.25, .loss = 1.5, .quality = 0.75, .low = 0.5, .high = 0.875};
  const CurveResult result{
      .metric = "exact_match",
      .higher_is_better = true,
      .examples = 9,
      .curves = {{.method = PruneMethod::gradient, .type = "all", .points = {point}},
                 {.method = PruneMethod::random,
                  .type = "cross",
                  .finetuned = true,
                  .orders = 2,
                  .points = {point}}}};
  EXPECT_EQ(io::json_text(curves_json(result)),
            R"({"curves":[{"method":"gradient","type":"all","finetuned":false,"points":[)"
            R"({"removed":0.25,"quality":0.75,"heads":3,"loss":1.5}]},)"
            R"({"method":"random","type":"cross","finetuned":true,"points":[)"
            R"({"removed":0.25,"quality":0.75,"heads":3,"loss":1.5,"low":0.5,"high":0.875}],)"
            R"("orders":2}],"metric":"exact_match","higher_is_better":true,"examples":9})");
}

}  // namespace
}  // namespace headlight::heads
