// Fields of jobs, as the commands have options.
#include "apps/server/studio/job_order.h"

#include <algorithm>

#include "apps/server/studio/studio.h"

namespace headlight::server::studio {
namespace {

using recipes::ExamplesRequest;

constexpr int64_t kMostSteps = 100'000'000;
constexpr size_t kMostKeys = 200;
constexpr size_t kMostListed = 1000;
constexpr TextRange kDataText = {1, 32 << 20};
constexpr TextRange kWord = {1, 1000};
constexpr std::string_view kKinds[] = {"train", "score", "ablate", "attribute", "patch",
                                       "gates", "curve", "prune",  "bench",     "find"};
constexpr std::string_view kAblations[] = {"zero", "mean", "resample"};
constexpr std::string_view kMethods[] = {"gradient", "ablation", "entropy", "gates", "random"};
constexpr std::string_view kTypes[] = {"all", "encoder", "decoder", "cross"};

class JobReader {
 public:
  JobReader(BodyFields& body, const std::function<std::string(const std::string&)>& name_of)
      : body_(body), name_of_(name_of) {}

  JobOrder read() {
    const auto kind = body_.choice("kind", kKinds);
    if (!kind) body_.refuse("kind", "is missing");
    order_.kind = *kind;
    order_.name = body_.text("name", {1, 100}).value_or("");
    check_name();
    order_.work = *kind == "train"       ? recipes::JobWork(train())
                  : *kind == "score"     ? recipes::JobWork(score())
                  : *kind == "ablate"    ? recipes::JobWork(ablate())
                  : *kind == "attribute" ? recipes::JobWork(attribute())
                  : *kind == "patch"     ? recipes::JobWork(patch())
                  : *kind == "gates"     ? recipes::JobWork(gates())
                  : *kind == "curve"     ? recipes::JobWork(curve())
                  : *kind == "prune"     ? recipes::JobWork(prune())
                  : *kind == "bench"     ? recipes::JobWork(bench())
                                         : recipes::JobWork(find());
    body_.refuse_others();
    return std::move(order_);
  }

 private:
  void check_name() const {
    const auto is_plain = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             c == '-' || c == '_';
    };
    if (std::ranges::all_of(order_.name, is_plain)) return;
    body_.refuse("name",
                 "must be letters a to z, digits, - and _, is " + io::in_quotes(order_.name));
  }

  std::string model() {
    order_.model = body_.needed_text("model");
    return name_of_(order_.model);
  }

  ExamplesRequest examples() {
    ExamplesRequest request;
    request.task = body_.choice("task", recipes::kTasks).value_or("");
    order_.data_text = body_.text("data_text", kDataText).value_or("");
    order_.ids_text = body_.text("ids_text", kDataText).value_or("");
    order_.targets_text = body_.text("targets_text", kDataText).value_or("");
    body_.exclude("ids_text", "data_text");
    body_.exclude("ids_text", "task");
    if (body_.has("targets_text") && !body_.has("ids_text"))
      body_.refuse("targets_text", "needs ids_text: what the targets are of");
    request.examples = body_.integer("examples", {1, 100'000}).value_or(0);
    request.seed = seed();
    return request;
  }

  uint64_t seed() { return static_cast<uint64_t>(body_.integer("seed", kAnySeed).value_or(0)); }

  double positive(const char* name) {
    const double number = body_.number(name, {0, 1e30}).value_or(0);
    if (body_.has(name) && number == 0) body_.refuse(name, "must be above 0");
    return number;
  }

  std::optional<int64_t> position() { return body_.integer("at", {0, INT32_MAX}); }

  std::vector<std::string> listed(const char* name, std::span<const std::string_view> choices) {
    std::vector<std::string> words =
        body_.texts(name, kMostListed, kWord).value_or(std::vector<std::string>());
    for (size_t i = 0; i < words.size(); ++i) {
      const std::string field = std::string(name) + "[" + std::to_string(i) + "]";
      if (std::ranges::find(choices, words[i]) == choices.end()) {
        body_.refuse(field, "is not known: " + io::in_quotes(words[i]) +
                                base::nearest_hint(words[i], choices));
      }
      if (std::ranges::count(words, words[i]) > 1) body_.refuse(field, "is named twice");
    }
    return words;
  }

  recipes::TrainJob train() {
    recipes::TrainJob job;
    const auto task = body_.choice("task", recipes::kTasks);
    if (!task) body_.refuse("task", "is missing");
    job.keys.emplace_back("task", *task);
    order_.data_text = body_.text("data_text", kDataText).value_or("");
    job.probe = body_.text("probe").value_or("");
    job.probe_target = body_.text("probe_target").value_or("");
    if (job.probe.empty() && !job.probe_target.empty()) {
      body_.refuse("probe_target", "has no meaning without probe");
    }
    const io::Json* keys = body_.value("keys");
    if (keys == nullptr) return checked(job);
    if (keys->object() == nullptr) body_.refuse("keys", "must be an object");
    if (keys->object()->size() > kMostKeys) body_.refuse("keys", "has too many members");
    for (const auto& [key, value] : *keys->object()) {
      // What names files and folders is the job's own affair.
      constexpr std::string_view kPaths[] = {"data",   "valid", "source", "target",  "init",
                                             "config", "out",   "task",   "encoding"};
      const std::string field = "keys." + key;
      if (std::ranges::find(kPaths, key) != std::end(kPaths)) {
        body_.refuse(field, "is not set here");
      }
      const bool is_plain = value.text() != nullptr || value.number() || value.boolean();
      if (!is_plain) body_.refuse(field, "must be a number, a boolean or a string");
      const std::string text = value.text() != nullptr ? *value.text() : io::json_text(value);
      // A tokenizer may be made here, not read from a folder.
      if (key == "tokenizer" && text != "char" && text != "word" && !text.starts_with("bpe:")) {
        body_.refuse(field, "must be char, word or bpe:N");
      }
      job.keys.emplace_back(key, text);
      about(field, [&] { recipes::train_values({job.keys.back()}); });
    }
    return checked(job);
  }

  recipes::TrainJob checked(recipes::TrainJob job) {
    const std::string& task = job.keys.front().second;
    if (recipes::is_generated_task(task) == !order_.data_text.empty()) {
      body_.refuse("data_text", order_.data_text.empty()
                                    ? "is missing: what the task reads"
                                    : "has no meaning: the task makes its data");
    }
    return job;
  }

  recipes::ScoreJob score() { return {.model = model(), .examples = examples()}; }

  heads::AblationKind ablation_kind() {
    return heads::ablation_kind(body_.choice("by", kAblations).value_or("zero"));
  }

  recipes::AblateJob ablate() {
    recipes::AblateJob job{.model = model(), .examples = examples()};
    job.options.by = ablation_kind();
    job.options.greedy = body_.flag("greedy");
    job.options.all_but_one = body_.flag("all_but_one");
    return job;
  }

  recipes::AttributeJob attribute() {
    recipes::AttributeJob job{.model = model()};
    job.request.text = {.prompt = body_.text("prompt").value_or(""),
                        .source = body_.text("source", kSomeText),
                        .at = position()};
    job.request.word = body_.needed_text("word", kWord);
    job.request.against = body_.text("against", kWord);
    job.request.lens = body_.flag("lens");
    job.request.top = body_.integer("top", {1, 1000}).value_or(job.request.top);
    job.request.special = body_.flag("special");
    return job;
  }

  recipes::PatchJob patch() {
    constexpr std::string_view kDirections[] = {"clean_into_corrupt", "corrupt_into_clean"};
    recipes::PatchJob job{.model = model()};
    job.request.clean = body_.needed_text("clean");
    job.request.corrupt = body_.needed_text("corrupt");
    job.request.prompt = body_.text("prompt").value_or("");
    job.request.at = position();
    job.request.word = body_.needed_text("word", kWord);
    job.request.against = body_.text("against", kWord);
    job.request.special = body_.flag("special");
    if (body_.choice("direction", kDirections) == kDirections[1]) {
      job.request.options.direction = heads::PatchDirection::corrupt_into_clean;
    }
    return job;
  }

  recipes::GatesJob gates() {
    recipes::GatesJob job{.model = model()};
    job.request.data = examples();
    job.request.penalty = positive("penalty");
    if (job.request.penalty == 0) body_.refuse("penalty", "is missing");
    job.request.steps = body_.integer("steps", {1, kMostSteps}).value_or(0);
    job.request.trains_weights = body_.flag("train_weights");
    return job;
  }

  recipes::CurveJob curve() {
    constexpr int64_t kFineTuneSteps = 20;
    recipes::CurveJob job{.model = model()};
    job.request.data = examples();
    heads::CurveOptions& curves = job.request.curves;
    const std::vector<std::string> methods = listed("methods", kMethods);
    if (!methods.empty()) curves.methods.clear();
    for (const std::string& one : methods) curves.methods.push_back(heads::prune_method(one));
    curves.types = listed("types", kTypes);
    curves.shares = body_.numbers("shares", {0, 1}, kMostListed).value_or(curves.shares);
    if (curves.shares.empty()) body_.refuse("shares", "is empty");
    curves.random_orders =
        body_.integer("random_orders", {1, 10'000}).value_or(curves.random_orders);
    job.request.finetune = body_.integer("finetune", {0, kMostSteps}).value_or(kFineTuneSteps);
    job.request.learning_rate = positive("learning_rate");
    job.request.penalty = positive("penalty");
    return job;
  }

  recipes::PruneJob prune() {
    recipes::PruneJob job{.model = model()};
    recipes::PruneRequest& request = job.request;
    request.data = examples();
    body_.exclude("keep", "heads_off");
    body_.exclude("by", "heads_off");
    request.keep = body_.number("keep", {0, 1}).value_or(1);
    if (body_.has("keep") && request.keep == 0) body_.refuse("keep", "leaves no head");
    const auto off = body_.texts("heads_off", 4096, {1, 200});
    if (!body_.has("keep") && !off) body_.refuse("keep", "is missing; or heads_off");
    for (size_t i = 0; off && i < off->size(); ++i) {
      about("heads_off[" + std::to_string(i) + "]",
            [&] { heads::parse_head_names((*off)[i], "heads_off"); });
      request.heads_off += (i == 0 ? "" : ",") + (*off)[i];
    }
    if (off && off->empty()) body_.refuse("heads_off", "is empty");
    request.by = heads::prune_method(body_.choice("by", kMethods).value_or("gradient"));
    request.finetune = body_.integer("finetune", {0, kMostSteps}).value_or(0);
    request.learning_rate = positive("learning_rate");
    request.penalty = positive("penalty");
    request.same_shape = body_.flag("same_shape");
    return job;
  }

  recipes::BenchJob bench() {
    recipes::BenchJob job{.model = model(), .pruned = name_of_(body_.needed_text("pruned"))};
    const auto sizes = [&](const char* name, std::vector<int64_t>& list) {
      const auto given = body_.integers(name, {1, 1 << 20}, kMostListed);
      if (!given) return;
      if (given->empty()) body_.refuse(name, "is empty");
      list = *given;
    };
    sizes("batches", job.options.batches);
    sizes("tokens", job.options.tokens);
    const double seconds = positive("seconds");
    if (seconds > 0) job.options.seconds = std::min(seconds, 3600.0);
    job.options.seed = seed();
    return job;
  }

  recipes::FindJob find() {
    recipes::FindJob job{.model = model()};
    job.request.data = examples();
    job.request.from = body_.text("from", kWord).value_or("");
    job.request.to = body_.text("to", kWord).value_or("");
    if (job.request.from.empty() != job.request.to.empty()) {
      body_.refuse(job.request.from.empty() ? "from" : "to", "is missing");
    }
    job.options.by = ablation_kind();
    read_pairs();
    return job;
  }

  // [[sentence, word, word], ...] as the lines of a file of pairs.
  void read_pairs() {
    body_.exclude("pairs", "from");
    const io::Json* pairs = body_.value("pairs");
    if (pairs == nullptr) return;
    if (pairs->array() == nullptr || pairs->array()->size() > 10'000) {
      body_.refuse("pairs", "must be a list of at most 10000 [sentence, word, word]");
    }
    for (size_t i = 0; i < pairs->array()->size(); ++i) {
      const io::Json::Array* row = (*pairs->array())[i].array();
      const std::string field = "pairs[" + std::to_string(i) + "]";
      if (row == nullptr || row->size() != 3) {
        body_.refuse(field, "must be [sentence, word, word]");
      }
      for (size_t j = 0; j < 3; ++j) {
        const std::string* text = (*row)[j].text();
        if (text == nullptr || text->empty() || text->find_first_of("\t\r\n") != text->npos) {
          body_.refuse(field, "must be three strings without tabs and line breaks");
        }
        order_.pairs_text += *text + (j < 2 ? "\t" : "\n");
      }
    }
  }

  BodyFields& body_;
  const std::function<std::string(const std::string&)>& name_of_;
  JobOrder order_;
};

}  // namespace

std::string field_of_refusal(std::string_view message) {
  const std::string named(message.substr(0, message.find_first_of(" :")));
  std::string typed = named;
  std::ranges::replace(typed, '_', '-');
  const auto is_named = [&](const recipes::TrainKey& key) { return key.name == typed; };
  const bool is_key = named == "seed" || std::ranges::any_of(recipes::train_keys(), is_named);
  return is_key ? "keys." + named : "keys";
}

JobOrder read_job_order(const std::string& body_text,
                        const std::function<std::string(const std::string& id)>& name_of) {
  BodyFields body = BodyFields::parse(body_text);
  return JobReader(body, name_of).read();
}

}  // namespace headlight::server::studio
