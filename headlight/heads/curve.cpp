// Orders of heads, and points along them.
#include "headlight/heads/curve.h"

#include <algorithm>
#include <map>
#include <set>

namespace headlight::heads {
namespace {

using io::Json;

constexpr std::string_view kHeadTypes[] = {"all", "encoder", "decoder", "cross"};
constexpr const char* kCurves = "curve";

std::string_view type_of_place(std::string_view place) {
  if (is_cross(place)) return "cross";
  return place.starts_with("encoder.") ? "encoder" : "decoder";
}

Json measured_json(const Measurement& measured) {
  return Json::Object{{"loss", measured.loss},
                      {"metric", measured.metric ? Json(*measured.metric) : Json()}};
}

// What a part of an earlier run says; nothing where it is not of this form.
std::optional<Measurement> read_measurement(const Json& json) {
  const Json* loss = json.find("loss");
  const Json* metric = json.find("metric");
  if (loss == nullptr || metric == nullptr || !loss->number()) return {};
  return Measurement{.loss = *loss->number(), .metric = metric->number()};
}

// Two curves of the same would be taken for one.
template <class Names>
void check_named_once(const Names& names, std::string_view what) {
  std::set<std::string> seen;
  for (const std::string_view name : names) {
    if (seen.emplace(name).second) continue;
    throw base::Error(base::ErrorKind::usage, what, name, "is named twice");
  }
}

// One way of choosing heads of one type, and what they are removed in.
struct CurvePlan {
  PruneMethod method;
  std::string type;
  int64_t order = 0;
  std::vector<HeadName> heads;  // of the type
  std::vector<int64_t> counts;  // removed at the points, ascending

  std::string name() const {
    return std::string(name_of(method)) + " " + type + " " + std::to_string(order);
  }
};

class CurveExperiment {
 public:
  CurveExperiment(base::ThreadPool& threads, models::Model& model, const Examples& examples,
                  const CurveOptions& options)
      : threads_(threads),
        model_(model),
        examples_(examples),
        options_(options),
        measured_on_(options.measured_on != nullptr ? *options.measured_on : examples) {
    check_examples(model, measured_on_);
    all_heads_ = static_cast<int64_t>(heads_of(model).size());
    make_plans();
    for (const CurvePlan& plan : plans_) planned_ += cost_of(plan);
  }

  CurveResult run() {
    CurveResult result{.metric = options_.metric ? options_.metric->name : "loss",
                       .higher_is_better = options_.metric && options_.metric->higher_is_better,
                       .examples = example_count(measured_on_)};
    for (const CurvePlan& plan : plans_) {
      const auto order = order_of(plan);
      if (!order || !add_points(plan, *order, result)) return {.interrupted = true};
    }
    for (Curve& curve : result.curves) finish(curve);
    return result;
  }

 private:
  void make_plans() {
    const std::vector<std::string> types =
        options_.types.empty() ? head_types(model_) : options_.types;
    std::vector<std::string_view> methods;
    for (const PruneMethod method : options_.methods) methods.push_back(name_of(method));
    check_named_once(methods, "methods");
    check_named_once(types, "types");
    for (const double share : options_.shares) {
      if (share >= 0 && share <= 1) continue;
      throw base::Error(base::ErrorKind::usage, "shares", io::json_text(share),
                        "is no share of the heads: one is from 0 to 1");
    }
    for (const std::string& type : types) {
      const std::vector<HeadName> heads = heads_of_type(model_, type);
      std::vector<int64_t> counts;
      for (const double share : options_.shares)
        counts.push_back(rounded_share(share, static_cast<int64_t>(heads.size())));
      std::ranges::sort(counts);
      counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
      for (const PruneMethod method : options_.methods) {
        const int64_t orders = method == PruneMethod::random ? options_.random_orders : 1;
        for (int64_t order = 0; order < orders; ++order)
          plans_.push_back({method, type, order, heads, counts});
      }
    }
  }

  // How long parts take, in times that all examples are read.
  static constexpr double kBackward = 3;  // forwards and backwards
  double order_cost(const CurvePlan& plan) const {
    const auto heads = static_cast<double>(plan.heads.size());
    const double rounds = std::min(10.0, heads);
    const auto gate_steps = static_cast<double>(options_.removal.gates.steps);
    switch (plan.method) {
      case PruneMethod::random:
        return 0;
      case PruneMethod::ablation:
        return rounds * heads / 2;
      case PruneMethod::gates:
        return rounds * gate_steps * kBackward / batches();
      default:
        return rounds * kBackward;
    }
  }
  double finetuned_cost() const {
    const auto steps = static_cast<double>(options_.finetune_steps);
    return options_.finetune ? 1 + steps * kBackward / batches() : 0;
  }
  double cost_of(const CurvePlan& plan) const {
    return order_cost(plan) + static_cast<double>(plan.counts.size()) * (1 + finetuned_cost());
  }
  double batches() const { return static_cast<double>(measured_on_.size()); }

  // From here on, a part that takes so long.
  Watch next_part(double cost) {
    const double begin = done_;
    done_ += cost;
    return options_.watch.part(begin / planned_, done_ / planned_);
  }

  std::optional<Json> known(const std::string& part) const {
    return options_.known ? options_.known(part) : std::nullopt;
  }
  void finished(const std::string& part, const Json& result) const {
    if (options_.finished) options_.finished(part, result);
  }

  std::optional<std::vector<HeadName>> order_of(const CurvePlan& plan) {
    const std::string part = "order " + plan.name();
    const Watch watch = next_part(order_cost(plan));
    std::vector<HeadName> names;
    if (const auto json = known(part); json && json->array() != nullptr) {
      for (const Json& name : *json->array())
        names.push_back(parse_head_names(name.text() ? *name.text() : "", kCurves).front());
      if (static_cast<int64_t>(names.size()) == plan.counts.back()) return names;
    }
    RemovalOptions removal = options_.removal;
    removal.by = plan.method;
    removal.count = plan.counts.back();
    removal.among = plan.heads;
    if (plan.method == PruneMethod::random) {
      removal.seed = base::mix(removal.seed, base::name_key(plan.name()));
    }
    removal.watch = watch;
    const RemovalOrder order = removal_order(threads_, model_, examples_, removal);
    if (order.interrupted) return {};
    Json::Array texts;
    for (const RemovedHead& one : order.heads) texts.emplace_back(one.head.text());
    finished(part, texts);
    return order.first(order.heads.size());
  }

  bool add_points(const CurvePlan& plan, const std::vector<HeadName>& order, CurveResult& result) {
    const auto removed = [&](int64_t count) {
      return std::vector<HeadName>(order.begin(), order.begin() + count);
    };
    const auto measure = [&](int64_t count, const Watch& watch) {
      return measure_model(threads_, model_, measured_on_,
                           {.metric = options_.metric, .without = removed(count), .watch = watch});
    };
    const auto train = [&](int64_t count, const Watch& watch) {
      return finetuned(removed(count), watch);
    };
    return points({plan, false, plan.counts, 1, measure}, result) &&
           (!options_.finetune ||
            points({plan, true, trained_counts(plan), finetuned_cost(), train}, result));
  }

  // A smaller model without any head cannot be trained.
  std::vector<int64_t> trained_counts(const CurvePlan& plan) {
    std::vector<int64_t> counts = plan.counts;
    if (std::erase(counts, all_heads_) > 0) next_part(finetuned_cost());  // which nobody needs
    return counts;
  }

  // The points of one curve along one order.
  struct Points {
    const CurvePlan& plan;
    bool finetuned = false;
    std::vector<int64_t> counts;  // of heads removed
    double cost = 0;              // of each
    std::function<std::optional<Measurement>(int64_t count, const Watch& watch)> measure;

    std::string part(int64_t count) const {
      return (finetuned ? "finetuned " : "point ") +
             (count == 0 ? "none" : plan.name() + " " + std::to_string(count));
    }
  };

  // Those that are known, and the others measured now; false: told to stop.
  bool points(const Points& asked, CurveResult& result) {
    std::map<int64_t, Measurement> measured;
    std::vector<int64_t> open;
    for (const int64_t count : asked.counts) {
      if (const auto point = known_point(asked.part(count))) {
        measured[count] = *point;
      } else {
        open.push_back(count);
      }
    }
    next_part(asked.cost * static_cast<double>(measured.size()));
    const Watch watch = next_part(asked.cost * static_cast<double>(open.size()));
    const auto work = [&](int64_t index, const Watch& piece) {
      return numbers_of(asked.measure(open[static_cast<size_t>(index)], piece));
    };
    const auto take = [&](int64_t index, const std::vector<double>& numbers) {
      const int64_t count = open[static_cast<size_t>(index)];
      measured[count] = measurement_of(numbers);
      if (count == 0) measured_[asked.part(count)] = measured[count];
      finished(asked.part(count), measured_json(measured[count]));
    };
    if (!run_pieces(static_cast<int64_t>(open.size()), watch, {work, take})) return false;
    for (const auto& [count, point] : measured)
      add(asked.plan, asked.finetuned, count, point, result);
    return true;
  }

  std::optional<Measurement> known_point(const std::string& part) const {
    if (const auto json = known(part)) {
      if (const auto measured = read_measurement(*json)) return measured;
    }
    const auto found = measured_.find(part);
    return found == measured_.end() ? std::nullopt : std::optional(found->second);
  }

  std::optional<Measurement> finetuned(const std::vector<HeadName>& removed, const Watch& watch) {
    const std::unique_ptr<models::Model> smaller = pruned_model(model_, removed);
    if (!options_.finetune(*smaller, watch)) return {};
    return measure_model(threads_, *smaller, measured_on_,
                         {.metric = options_.metric, .watch = watch.quiet()});
  }

  // To the curve of the plan, which its first order makes.
  void add(const CurvePlan& plan, bool finetuned, int64_t count, const Measurement& measured,
           CurveResult& result) const {
    auto curve = std::ranges::find_if(result.curves, [&](const Curve& one) {
      return one.method == plan.method && one.type == plan.type && one.finetuned == finetuned;
    });
    if (curve == result.curves.end()) {
      result.curves.push_back({plan.method, plan.type, finetuned, 0, {}});
      curve = result.curves.end() - 1;
    }
    curve->orders = plan.order + 1;
    auto point = std::ranges::find(curve->points, count, &CurvePoint::heads);
    const double quality = measured.metric.value_or(measured.loss);
    if (point == curve->points.end()) {
      const auto all = static_cast<double>(plan.heads.size());
      curve->points.push_back({count, static_cast<double>(count) / all, 0, 0, quality, quality});
      point = curve->points.end() - 1;
    }
    point->loss += measured.loss;  // sums until all orders are there
    point->quality += quality;
    point->low = std::min(point->low, quality);
    point->high = std::max(point->high, quality);
  }

  static void finish(Curve& curve) {
    for (CurvePoint& point : curve.points) {
      const bool is_loss = point.loss == point.quality;
      point.loss /= static_cast<double>(curve.orders);
      // The sum of equal numbers is rounded: their mean is to be no other number.
      point.quality =
          std::clamp(point.quality / static_cast<double>(curve.orders), point.low, point.high);
      if (is_loss) point.loss = point.quality;
    }
  }

  base::ThreadPool& threads_;
  models::Model& model_;
  const Examples& examples_;
  const CurveOptions& options_;
  const Examples& measured_on_;
  int64_t all_heads_ = 0;
  std::vector<CurvePlan> plans_;
  std::map<std::string, Measurement> measured_;  // points that plans share
  double planned_ = 0;
  double done_ = 0;
};

}  // namespace

std::vector<std::string> head_types(const models::Model& model) {
  std::vector<std::string> types = {"all"};
  for (const std::string_view type : kHeadTypes) {
    const auto is_of_type = [&](const HeadName& head) { return type_of_place(head.place) == type; };
    const std::vector<HeadName> heads = heads_of(model);
    if (std::ranges::any_of(heads, is_of_type)) types.emplace_back(type);
  }
  if (types.size() == 2) types.pop_back();  // it has no others
  return types;
}

std::vector<HeadName> heads_of_type(const models::Model& model, const std::string& type) {
  if (std::ranges::find(kHeadTypes, type) == std::end(kHeadTypes)) {
    throw base::Error(
        base::ErrorKind::usage, "type of heads", io::in_quotes(type),
        "is none of all, encoder, decoder, cross" + base::nearest_hint(type, kHeadTypes));
  }
  std::vector<HeadName> heads = heads_of(model);
  if (type != "all") {
    std::erase_if(heads, [&](const HeadName& head) { return type_of_place(head.place) != type; });
  }
  if (heads.empty()) base::refuse("type of heads", type, "the model has no such heads");
  return heads;
}

CurveResult prune_curves(base::ThreadPool& threads, models::Model& model, const Examples& examples,
                         const CurveOptions& options) {
  return CurveExperiment(threads, model, examples, options).run();
}

double removable_share(const Curve& curve, bool higher_is_better, double tolerance) {
  double share = 0;
  if (curve.points.empty()) return share;
  const double whole = curve.points.front().quality;
  for (const CurvePoint& point : curve.points) {
    const double worse = higher_is_better ? whole - point.quality : point.quality - whole;
    if (!(worse <= tolerance)) break;
    share = point.removed;
  }
  return share;
}

Json::Object curves_json(const CurveResult& result) {
  Json::Array curves;
  for (const Curve& curve : result.curves) {
    const bool is_random = curve.method == PruneMethod::random;
    Json::Array points;
    for (const CurvePoint& point : curve.points) {
      Json::Object facts{{"removed", point.removed},
                         {"quality", point.quality},
                         {"heads", point.heads},
                         {"loss", point.loss}};
      if (is_random) {
        facts.emplace_back("low", point.low);
        facts.emplace_back("high", point.high);
      }
      points.emplace_back(std::move(facts));
    }
    Json::Object facts{{"method", name_of(curve.method)},
                       {"type", curve.type},
                       {"finetuned", curve.finetuned},
                       {"points", std::move(points)}};
    if (is_random) facts.emplace_back("orders", curve.orders);
    curves.emplace_back(std::move(facts));
  }
  return {{"curves", std::move(curves)},
          {"metric", result.metric},
          {"higher_is_better", result.higher_is_better},
          {"examples", result.examples}};
}

}  // namespace headlight::heads
