// The model is run once on the file's ids; each tensor is compared when the run shows it.
#include "headlight/recipes/reference_numbers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace headlight::recipes {
namespace {

using tensor::Tensor;

constexpr std::string_view kPublicFile = "reference.safetensors";
constexpr std::string_view kPartialsFile = "partials.safetensors";
constexpr int64_t kMostReferenceIds = 65536;

// Public names with the file's own.
using NamesInFile = std::map<std::string, std::string, std::less<>>;

NamesInFile names_of_partials(const models::Model& model) {
  NamesInFile names = {{"decoder.embedding", "tok_emb"},
                       {"decoder.positions", "pos_emb"},
                       {"decoder.sum", "x"},
                       {"decoder.0.norm_1.output", "ln1"},
                       {"decoder.0.self.projected", "qkv"},
                       {"decoder.0.self.query", "q"},
                       {"decoder.0.self.key", "k"},
                       {"decoder.0.self.value", "v"},
                       {"decoder.0.self.weights", "attSm"},
                       {"decoder.0.self.concatenated", "y"},
                       {"decoder.0.self.output", "yProj"},
                       {"decoder.0.norm_2.input", "attnResid"},
                       {"decoder.0.norm_2.output", "ln2"},
                       {"decoder.0.ffn.hidden", "fc"},
                       {"decoder.0.ffn.activated", "gelu"},
                       {"decoder.0.ffn.output", "mlp"},
                       {"decoder.output", "ln_f"},
                       {"logits", "lm_head"},
                       {"probabilities", "probs"}};
  const nn::TransformerStack* layers = model.parts().decoder;
  const size_t count = layers == nullptr ? 0 : layers->blocks().size();
  for (size_t layer = 0; layer < count; ++layer) {
    const std::string number = std::to_string(layer);
    names.emplace("decoder." + number + ".residual_out", "block" + number);
  }
  return names;
}

class ReferenceObserver : public autograd::Observer {
 public:
  ReferenceObserver(const io::Safetensors& file, std::optional<NamesInFile> names)
      : file_(file), names_(std::move(names)) {}

  bool wants(std::string_view place) override { return entry_of(place) != nullptr; }

  void see(std::string_view place, const Tensor& values) override {
    const io::Safetensors::Entry* entry = entry_of(place);
    if (entry == nullptr || !compared_.emplace(place, true).second) return;
    const Tensor theirs = tensor::to_float32(file_.load(*entry).contiguous());
    const Tensor ours = tensor::to_float32(values.contiguous());
    // One that all sequences share is there once; a batch's axis may be missing.
    const int64_t count = theirs.elements();
    const bool fits = count > 0 && ours.elements() % count == 0 &&
                      (ours.elements() == count || ours.elements() / count == ours.size(0)) &&
                      ours.size(-1) == theirs.size(-1);
    if (!fits) {
      base::refuse("reference", file_.path_of(*entry),
                   entry->name + " is " + theirs.shape().text() + ", the model's " +
                       std::string(place) + " is " + ours.shape().text());
    }
    compare(place, ours, theirs);
  }

  const ReferenceResult& result() const { return result_; }

 private:
  const io::Safetensors::Entry* entry_of(std::string_view place) const {
    if (!names_) return file_.find(place);
    const auto name = names_->find(place);
    return name == names_->end() ? nullptr : file_.find(name->second);
  }

  void compare(std::string_view place, const Tensor& ours, const Tensor& theirs) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    double largest = 0;
    double size = 0;
    for (int64_t i = 0; i < ours.elements(); ++i) {
      const double a = ours.data<float>()[i];
      const double b = theirs.data<float>()[i % theirs.elements()];
      if (a == -kInfinity) continue;  // hidden
      if (std::isfinite(b)) size = std::max(size, std::fabs(b));
      const double difference = a == b ? 0 : std::fabs(a - b);
      largest = std::max(largest, std::isfinite(difference) ? difference : kInfinity);
    }
    const double relative = largest == 0 ? 0 : largest / std::max(size, 1e-30);
    ++result_.compared;
    result_.largest_difference = std::max(result_.largest_difference, largest);
    result_.relative = std::max(result_.relative, relative);
    if (relative > kReferenceTolerance && !result_.first) result_.first = std::string(place);
  }

  const io::Safetensors& file_;
  std::optional<NamesInFile> names_;
  std::map<std::string, bool, std::less<>> compared_;
  ReferenceResult result_;
};

Tensor ids_in(const io::Safetensors& file, const std::string& path, const std::string& name) {
  const io::Safetensors::Entry* entry = file.find(name);
  if (entry == nullptr) base::refuse("reference", path, "has no tensor " + io::in_quotes(name));
  const Tensor stored = file.load(*entry).contiguous();
  const bool is_list = stored.rank() == 1 || stored.rank() == 2;
  if (!is_list || stored.elements() < 1 || stored.elements() > kMostReferenceIds) {
    base::refuse("reference", path,
                 name + " is " + stored.shape().text() + ", sequences (B, T) of at most " +
                     std::to_string(kMostReferenceIds) + " ids in all are needed");
  }
  const Tensor ids = io::as_int64(stored, name);
  return ids.rank() == 2 ? ids : ids.reshaped({1, ids.elements()});
}

}  // namespace

std::optional<ReferenceResult> compare_with_reference(base::ThreadPool& threads,
                                                      base::FileSystem& files,
                                                      const std::string& folder,
                                                      const models::Model& model) {
  const bool has_public = base::exists(files, folder + "/" + std::string(kPublicFile));
  const std::string name(has_public ? kPublicFile : kPartialsFile);
  const std::string path = folder + "/" + name;
  if (!base::exists(files, path)) return std::nullopt;
  const io::Safetensors file = io::open_safetensors(files, path);
  models::Batch batch{.ids = ids_in(file, path, has_public ? "ids" : "idx")};
  if (model.capabilities().translates) batch.source_ids = ids_in(file, path, "source_ids");
  ReferenceObserver observer(file,
                             has_public ? std::nullopt : std::optional(names_of_partials(model)));
  tensor::Arena arena;
  autograd::Context context{.threads = threads, .arena = arena, .observer = &observer};
  const autograd::Value output = model.forward(context, batch);
  model.run_head(context, output, batch);
  ReferenceResult result = observer.result();
  result.file = name;
  if (result.compared == 0) {
    base::refuse("reference", path, "has none of the model's tensors; it has " + file.names_text());
  }
  return result;
}

io::Json reference_json(const ReferenceResult& result) {
  return io::Json::Object{{"file", result.file},
                          {"compared", result.compared},
                          {"largest_difference", result.largest_difference},
                          {"relative", result.relative},
                          {"first", result.first ? io::Json(*result.first) : io::Json()}};
}

}  // namespace headlight::recipes
