// Scores, curves and comparisons of one model, one after the other.
#include "headlight/recipes/heads_study.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "headlight/recipes/model_copy.h"

namespace headlight::recipes {
namespace {

using heads::HeadName;
using heads::Measurement;
using heads::PruneMethod;
using io::Json;

// Thrown through everything when it is told to stop.
struct StudyStopped {};

class StudyOfHeads {
 public:
  StudyOfHeads(base::ThreadPool& threads, base::FileSystem& files, const LoadedModel& loaded,
               const HeadsStudyOptions& options)
      : threads_(threads), model_(*loaded.model), options_(options) {
    watch_.interrupted = options.interrupted;
    choosing_ = make_pruning_data(files, loaded,
                                  {.examples = options.chosen_examples, .seed = options.seed});
    measuring_ = make_pruning_data(files, loaded,
                                   {.examples = options.measured_examples, .seed = options.seed});
    study_.metric = measuring_.metric ? measuring_.metric->name : "loss";
    study_.higher_is_better = measuring_.metric && measuring_.metric->higher_is_better;
    study_.examples = heads::example_count(measuring_.measured_on);
    study_.tolerance = options.tolerance;
  }

  HeadsStudy run() {
    try {
      compare_shapes();
      score();
      compare_scores();
      draw_curves();
    } catch (const StudyStopped&) {
      return {.interrupted = true};
    }
    return std::move(study_);
  }

 private:
  void begin(const std::string& stage) const {
    if (options_.begins) options_.begins(stage);
    if (watch_.stops()) throw StudyStopped{};
  }
  static void check_done(bool interrupted) {
    if (interrupted) throw StudyStopped{};
  }

  void score() {
    begin("gradient importance");
    const heads::ImportanceResult importance =
        heads::measure_importance(threads_, model_, choosing_.chosen_by, watch_);
    check_done(importance.interrupted);
    for (const nn::MultiHeadAttention* attention : models::attentions_of(model_)) {
      const std::string& place = attention->options().place;
      const nn::HeadNumbers& numbers = attention->heads().numbers;
      for (size_t i = 0; i < numbers.size(); ++i) {
        const heads::HeadImportance& head = importance.heads.at(place)[i];
        study_.heads.push_back({.head = {place, numbers[i]},
                                .gradient = head.gradient,
                                .confidence = head.confidence});
      }
    }
    add_ablations();
    add_attributions();
  }

  void add_ablations() {
    for (const heads::AblationKind kind : {heads::AblationKind::zero, heads::AblationKind::mean}) {
      begin("ablation, " + std::string(name_of(kind)));
      const heads::AblationResult ablated =
          heads::ablate_heads(threads_, model_, choosing_.chosen_by, {.by = kind, .watch = watch_});
      check_done(ablated.interrupted);
      for (size_t i = 0; i < study_.heads.size(); ++i) {
        double& change = kind == heads::AblationKind::zero ? study_.heads[i].ablation
                                                           : study_.heads[i].mean_ablation;
        change = ablated.heads[i].change;
      }
    }
    begin("each head missing, and each alone");
    heads::AblationOptions options{
        .all_but_one = true, .metric = measuring_.metric, .watch = watch_};
    options.known = [this](const std::string& name) {
      return known_measurement("ablated " + name);
    };
    options.measured = [this](const std::string& name, const Measurement& measured) {
      finish_measurement("ablated " + name, measured);
    };
    const heads::AblationResult missed =
        heads::ablate_heads(threads_, model_, measuring_.measured_on, options);
    check_done(missed.interrupted);
    study_.whole = missed.baseline;
    for (size_t i = 0; i < study_.heads.size(); ++i) {
      study_.heads[i].without = missed.heads[i].measured;
      study_.heads[i].alone = missed.all_but_one[i].measured;
    }
  }

  void add_attributions() {
    begin("attribution");
    std::vector<models::Batch> rows;
    for (const models::Batch& batch : choosing_.chosen_by) {
      for (int64_t row = 0; row < batch.ids.size(0); ++row)
        rows.push_back(heads::example_at(batch, row));
    }
    heads::Examples drawn;  // lengths lie one after the other: of all of them
    for (const int64_t i : drawn_indices(static_cast<int64_t>(rows.size()),
                                         options_.attributed_examples, options_.seed)) {
      drawn.push_back(rows[static_cast<size_t>(i)]);
    }
    const heads::MeanAttribution means = heads::mean_attribution(threads_, model_, drawn, watch_);
    check_done(means.interrupted);
    for (const heads::HeadAttribution& one : means.heads)
      std::ranges::find(study_.heads, one.head, &StudiedHead::head)->attribution = one.magnitude;
  }

  void compare_scores() {
    using Score = std::function<std::optional<double>(const StudiedHead&)>;
    const std::vector<std::pair<std::string, Score>> scores = {
        {"gradient", [](const StudiedHead& head) { return head.gradient; }},
        {"ablation", [](const StudiedHead& head) { return head.ablation; }},
        {"mean_ablation", [](const StudiedHead& head) { return head.mean_ablation; }},
        {"attribution", [](const StudiedHead& head) { return head.attribution; }},
        {"confidence", [](const StudiedHead& head) { return head.confidence; }}};
    for (size_t i = 0; i < scores.size(); ++i) {
      for (size_t j = i + 1; j < scores.size(); ++j) {
        std::vector<double> first;
        std::vector<double> second;
        for (const StudiedHead& head : study_.heads) {
          const auto a = scores[i].second(head);
          const auto b = scores[j].second(head);
          if (!a || !b) continue;
          first.push_back(*a);
          second.push_back(*b);
        }
        study_.agreements.push_back({scores[i].first, scores[j].first,
                                     heads::rank_correlation(first, second),
                                     static_cast<int64_t>(first.size())});
      }
    }
  }

  heads::CurveOptions curve_options() {
    heads::CurveOptions options{.shares = options_.shares,
                                .random_orders = options_.random_orders,
                                .measured_on = &measuring_.measured_on,
                                .metric = measuring_.metric,
                                .watch = watch_};
    options.removal.seed = options_.seed;
    options.removal.gates.steps = options_.gate_steps;
    options.removal.gates.batch = [this](int64_t step) { return choosing_.training->batch(step); };
    options.known = [this](const std::string& part) { return known(part); };
    options.finished = [this](const std::string& part, const Json& result) {
      finish(part, result);
    };
    return options;
  }

  void draw_curves() {
    std::vector<PruneMethod> methods = {PruneMethod::gradient, PruneMethod::ablation};
    if (options_.gate_steps > 0) methods.push_back(PruneMethod::gates);
    if (options_.random_orders > 0) methods.push_back(PruneMethod::random);
    std::vector<std::string> types = heads::head_types(model_);
    std::erase(types, "all");
    heads::CurveOptions options = curve_options();
    add_curves("curves of all heads", {"all"}, methods, options);
    add_curves("curves of types", types, {PruneMethod::gradient}, options);
    // As far as before, so that the orders are the same.
    const double most = *std::ranges::max_element(options_.shares);
    options.shares = options_.coarse_shares;
    options.shares.insert(options.shares.end(), {0, most});
    if (options_.random_orders > 0)
      add_curves("random curves of types", types, {PruneMethod::random}, options);
    if (options_.finetune <= 0) return;
    options.finetune = fine_tuning(threads_, *choosing_.training,
                                   {.steps = options_.finetune, .seed = options_.seed});
    options.finetune_steps = options_.finetune;
    add_curves("fine-tuned curves of all heads", {"all"}, methods, options);
    add_curves("fine-tuned curves of types", types, {PruneMethod::gradient}, options);
  }

  void add_curves(const std::string& stage, const std::vector<std::string>& types,
                  const std::vector<PruneMethod>& methods, heads::CurveOptions options) {
    if (types.empty()) return;  // the model has one only
    begin(stage);
    options.types = types;
    options.methods = methods;
    heads::CurveResult result = heads::prune_curves(threads_, model_, choosing_.chosen_by, options);
    check_done(result.interrupted);
    const bool is_finetuned = options.finetune != nullptr;
    for (heads::Curve& curve : result.curves) {
      if (curve.finetuned == is_finetuned) study_.curves.push_back(std::move(curve));
    }
  }

  void compare_shapes() {
    if (!options_.from_scratch) return;
    const auto all = static_cast<int64_t>(heads::heads_of(model_).size());
    for (const double share : options_.kept_shares) {
      const int64_t kept = heads::heads_kept(share, all);
      begin("pruned to " + std::to_string(kept) + " heads, against trained from scratch");
      const heads::RemovalOrder order =
          heads::removal_order(threads_, model_, choosing_.chosen_by,
                               {.by = PruneMethod::gradient, .count = all - kept, .watch = watch_});
      check_done(order.interrupted);
      const std::unique_ptr<models::Model> pruned =
          heads::pruned_model(model_, order.first(order.heads.size()));
      EqualShape compared{.kept_share = share, .heads = kept};
      for (const nn::MultiHeadAttention* attention : models::attentions_of(*pruned))
        compared.left.emplace_back(attention->options().place, attention->heads().count());
      compared.pruned = measured(*pruned);
      const auto finetune =
          fine_tuning(threads_, *choosing_.training,
                      {.steps = options_.finetune_compared, .seed = options_.seed});
      check_done(!finetune(*pruned, watch_));
      compared.finetuned = measured(*pruned);
      const std::unique_ptr<models::Model> scratch = options_.from_scratch(*pruned);
      check_done(!scratch);
      compared.from_scratch = measured(*scratch);
      study_.equal_shapes.push_back(compared);
    }
  }

  Measurement measured(models::Model& model) {
    const auto result = heads::measure_model(threads_, model, measuring_.measured_on,
                                             {.metric = measuring_.metric, .watch = watch_});
    check_done(!result);
    return *result;
  }

  // What the parts of this run and of earlier ones have given.
  std::optional<Json> known(const std::string& part) const {
    const auto found = parts_.find(part);
    if (found != parts_.end()) return found->second;
    return options_.known ? options_.known(part) : std::nullopt;
  }
  void finish(const std::string& part, const Json& result) {
    parts_[part] = result;
    if (options_.finished) options_.finished(part, result);
  }
  std::optional<Measurement> known_measurement(const std::string& part) const {
    const std::optional<Json> json = known(part);
    const Json* loss = json ? json->find("loss") : nullptr;
    if (loss == nullptr) return {};
    Measurement measured{.loss = loss->number().value_or(NAN)};
    if (const Json* metric = json->find("metric")) measured.metric = metric->number();
    return measured;
  }
  void finish_measurement(const std::string& part, const Measurement& measured) {
    Json::Object result{{"loss", measured.loss}};
    if (measured.metric) result.emplace_back("metric", *measured.metric);
    finish(part, result);
  }

  base::ThreadPool& threads_;
  models::Model& model_;
  const HeadsStudyOptions& options_;
  heads::Watch watch_;
  PruningData choosing_;
  PruningData measuring_;
  std::map<std::string, Json> parts_;
  HeadsStudy study_;
};

}  // namespace

HeadsStudy study_heads(base::ThreadPool& threads, base::FileSystem& files,
                       const LoadedModel& loaded, const HeadsStudyOptions& options) {
  return StudyOfHeads(threads, files, loaded, options).run();
}

void write_fresh_model(base::FileSystem& files, const models::Model& shape,
                       const std::string& source, uint64_t seed, const std::string& folder) {
  const std::unique_ptr<models::Model> fresh = shape.with_heads(models::heads_left_of(shape));
  fresh->draw(seed);
  write_model_copy(files, *fresh, source, folder);
}

}  // namespace headlight::recipes
