// Keys, presets and defaults of training runs.
#include "headlight/recipes/train_keys.h"

#include "headlight/train/train.h"

namespace headlight::recipes {
namespace {

using S = TrainSettings;
using Values = std::pair<std::string_view, std::string_view>;

constexpr int64_t kMany = int64_t{1} << 40;
constexpr int64_t kWide = int64_t{1} << 20;
constexpr std::string_view kNorms[] = {"pre", "post"};
constexpr std::string_view kPositions[] = {"learned", "sinusoidal"};
constexpr std::string_view kActivations[] = {"gelu", "gelu_new", "relu", "silu"};
constexpr std::string_view kOptimizers[] = {"adamw", "adam", "sgd"};
constexpr std::string_view kSchedules[] = {"cosine", "noam", "inverse_sqrt", "constant"};

constexpr TrainKey kKeyTable[] = {
    {"preset", "NAME", "tiny, shakespeare-char-cpu, transformer-base, gpt2 or numbers",
     TextKey{&S::preset}},
    {"task", "NAME", "lm, mlm, translate, numbers, copy or reverse", ChoiceKey{&S::task, kTasks}},
    {"arch", "TYPE", "model_type of what is trained (default: gpt2 for lm, bert for mlm)",
     TextKey{&S::arch}},
    {"data", "PATH", "text (lm, mlm) or tab-separated pairs (translate)", TextKey{&S::data}},
    {"valid", "PATH", "the same for validation (default: a part of the data)", TextKey{&S::valid}},
    {"source", "PATH", "translate: one sentence per line, instead of --data", TextKey{&S::source}},
    {"target", "PATH", "translate: their translations", TextKey{&S::target}},
    {"tokenizer", "KIND", "char, word, bpe:8000, gpt2 or a folder", TextKey{&S::tokenizer}},
    {"init", "DIR", "begin with the weights of this model, or of an embedded one, by name",
     TextKey{&S::init}},
    {"encoding", "NAME", "of the text files, when not UTF-8: cp1254, cp949, ...",
     TextKey{&S::encoding}},
    {"n-layer", "N", "layers", IntegerKey{&S::n_layer, {1, 1000}}},
    {"n-encoder-layer", "N", "layers of the encoder (default: n_layer)",
     IntegerKey{&S::n_encoder_layer, {1, 1000}}},
    {"n-decoder-layer", "N", "layers of the decoder (default: n_layer)",
     IntegerKey{&S::n_decoder_layer, {1, 1000}}},
    {"n-head", "N", "heads of a layer", IntegerKey{&S::n_head, {1, kWide}}},
    {"n-kv-head", "N", "key and value heads that they share (default: n_head)",
     IntegerKey{&S::n_kv_head, {1, kWide}}},
    {"n-embd", "N", "model width", IntegerKey{&S::n_embd, {1, kWide}}},
    {"d-ff", "N", "width of the feed-forward layers (default: 4 n_embd, with a gate 8/3 n_embd)",
     IntegerKey{&S::d_ff, {1, kWide}}},
    {"block-size", "N", "most tokens in a sequence", IntegerKey{&S::block_size, {1, kWide}}},
    {"sliding-window", "N", "tokens that layers with a window see (default: the architecture's)",
     IntegerKey{&S::sliding_window, {1, kWide}}},
    {"rope-theta", "X", "base of rotary positions (default: the architecture's)",
     RealKey{&S::rope_theta, {1, 1e12}}},
    {"dropout", "P", "share of numbers dropped in training", RealKey{&S::dropout, {0, 0.99}}},
    {"bias", "true|false", "biases, where the architecture has such a switch", SwitchKey{&S::bias}},
    {"tie-embeddings", "true|false", "the output layer is the embedding table",
     SwitchKey{&S::tie_embeddings}},
    {"norm", "pre|post", "norms before or after sublayers", ChoiceKey{&S::norm, kNorms}},
    {"positions", "KIND", "sinusoidal or learned", ChoiceKey{&S::positions, kPositions}},
    {"activation", "NAME", "relu, gelu (exact), gelu_new (tanh) or silu",
     ChoiceKey{&S::activation, kActivations}},
    {"batch-size", "N", "sequences in a batch; translate: on average",
     IntegerKey{&S::batch_size, {1, kWide}}},
    {"batch-tokens", "N", "translate, instead: tokens of a batch, padding included",
     IntegerKey{&S::batch_tokens, {1, kMany}}},
    {"gradient-accumulation-steps", "N", "batches of a step",
     IntegerKey{&S::gradient_accumulation_steps, {1, kWide}}},
    {"shards", "S", "runs of a step's sequences, added in a fixed tree (default: 1; max(8, ranks))",
     IntegerKey{&S::shards, {1, train::kMaxShards}}},
    {"max-iters", "N", "steps", IntegerKey{&S::max_iters, {1, kMany}}, true},
    {"eval-interval", "N", "steps between evaluations, each of which is saved",
     IntegerKey{&S::eval_interval, {1, kMany}}, true},
    {"log-interval", "N", "steps between lines of the log",
     IntegerKey{&S::log_interval, {1, kMany}}, true},
    {"patience", "N", "stop after N evaluations without a better one (0: never)",
     IntegerKey{&S::patience, {0, kMany}}, true},
    {"optimizer", "NAME", "adamw, adam or sgd", ChoiceKey{&S::optimizer, kOptimizers}},
    {"schedule", "NAME", "cosine, noam, inverse_sqrt or constant",
     ChoiceKey{&S::schedule, kSchedules}},
    {"learning-rate", "X", "the highest; noam: the factor", RealKey{&S::learning_rate, {0, 1000}}},
    {"min-lr", "X", "where the cosine ends", RealKey{&S::min_lr, {0, 1000}}},
    {"warmup-iters", "N", "steps of warm-up", IntegerKey{&S::warmup_iters, {0, kMany}}},
    {"lr-decay-iters", "N", "where the cosine ends (default: max_iters)",
     IntegerKey{&S::lr_decay_iters, {1, kMany}}},
    {"weight-decay", "X", "of matrices", RealKey{&S::weight_decay, {0, 100}}},
    {"beta1", "X", "first moment; sgd: momentum", RealKey{&S::beta1, {0, 0.99999}}},
    {"beta2", "X", "second moment", RealKey{&S::beta2, {0, 0.9999999}}},
    {"grad-clip", "X", "largest norm of the gradients (0: no limit)",
     RealKey{&S::grad_clip, {0, 1e9}}},
    {"label-smoothing", "P", "share of the target spread over all words",
     RealKey{&S::label_smoothing, {0, 0.99}}},
};

constexpr Values kTiny[] = {
    {"n-layer", "2"},         {"n-head", "2"},        {"n-embd", "32"},
    {"block-size", "32"},     {"batch-size", "16"},   {"max-iters", "300"},
    {"eval-interval", "100"}, {"warmup-iters", "20"}, {"learning-rate", "3e-3"}};

// nanoGPT's recipe for a CPU.
constexpr Values kShakespeare[] = {{"task", "lm"},
                                   {"tokenizer", "char"},
                                   {"n-layer", "4"},
                                   {"n-head", "4"},
                                   {"n-embd", "128"},
                                   {"block-size", "64"},
                                   {"batch-size", "12"},
                                   {"dropout", "0"},
                                   {"bias", "false"},
                                   {"activation", "gelu"},
                                   {"max-iters", "2000"},
                                   {"eval-interval", "250"},
                                   {"learning-rate", "1e-3"},
                                   {"min-lr", "1e-4"},
                                   {"warmup-iters", "100"},
                                   {"schedule", "cosine"},
                                   {"beta1", "0.9"},
                                   {"beta2", "0.99"},
                                   {"weight-decay", "0.1"},
                                   {"grad-clip", "1"}};

constexpr Values kTransformerBase[] = {{"task", "translate"},      {"tokenizer", "bpe:8000"},
                                       {"n-layer", "6"},           {"n-head", "8"},
                                       {"n-embd", "512"},          {"d-ff", "2048"},
                                       {"dropout", "0.1"},         {"norm", "post"},
                                       {"activation", "relu"},     {"positions", "sinusoidal"},
                                       {"label-smoothing", "0.1"}, {"schedule", "noam"},
                                       {"learning-rate", "1"},     {"warmup-iters", "4000"},
                                       {"optimizer", "adam"},      {"weight-decay", "0"},
                                       {"beta1", "0.9"},           {"beta2", "0.98"},
                                       {"grad-clip", "0"},         {"batch-tokens", "4096"},
                                       {"max-iters", "100000"},    {"eval-interval", "1000"}};

constexpr Values kGpt2[] = {{"task", "lm"},
                            {"tokenizer", "gpt2"},
                            {"n-layer", "12"},
                            {"n-head", "12"},
                            {"n-embd", "768"},
                            {"block-size", "1024"},
                            {"batch-size", "4"},
                            {"bias", "true"},
                            {"activation", "gelu_new"},
                            {"learning-rate", "6e-4"},
                            {"min-lr", "6e-5"},
                            {"warmup-iters", "2000"},
                            {"schedule", "cosine"},
                            {"beta2", "0.95"},
                            {"weight-decay", "0.1"},
                            {"max-iters", "600000"},
                            {"eval-interval", "1000"}};

constexpr Values kNumbers[] = {
    {"task", "numbers"},   {"n-layer", "3"},         {"n-head", "8"},
    {"n-embd", "64"},      {"d-ff", "256"},          {"batch-size", "128"},
    {"max-iters", "5000"}, {"eval-interval", "500"}, {"learning-rate", "3e-3"},
    {"min-lr", "1e-5"},    {"warmup-iters", "300"}};

constexpr Preset kPresetTable[] = {{"tiny", kTiny},
                                   {"shakespeare-char-cpu", kShakespeare},
                                   {"transformer-base", kTransformerBase},
                                   {"gpt2", kGpt2},
                                   {"numbers", kNumbers}};

// Defaults of GPTs and of encoder-decoders.
constexpr Values kLmDefaults[] = {
    {"tokenizer", "char"},  {"n-layer", "4"},         {"n-head", "4"},
    {"n-embd", "128"},      {"block-size", "64"},     {"batch-size", "12"},
    {"max-iters", "2000"},  {"eval-interval", "250"}, {"learning-rate", "1e-3"},
    {"min-lr", "1e-4"},     {"warmup-iters", "100"},  {"beta2", "0.99"},
    {"weight-decay", "0.1"}};
constexpr Values kMlmDefaults[] = {
    {"tokenizer", "bpe:8000"}, {"n-layer", "4"},         {"n-head", "4"},
    {"n-embd", "128"},         {"block-size", "64"},     {"batch-size", "16"},
    {"max-iters", "2000"},     {"eval-interval", "250"}, {"learning-rate", "1e-3"},
    {"min-lr", "1e-4"},        {"warmup-iters", "100"},  {"weight-decay", "0.01"}};
constexpr Values kTranslateDefaults[] = {
    {"tokenizer", "bpe:8000"},  {"n-layer", "4"},         {"n-head", "4"},
    {"n-embd", "256"},          {"batch-tokens", "4096"}, {"dropout", "0.1"},
    {"label-smoothing", "0.1"}, {"max-iters", "10000"},   {"eval-interval", "500"},
    {"learning-rate", "1e-3"},  {"min-lr", "1e-5"},       {"warmup-iters", "500"},
    {"weight-decay", "0.01"}};
constexpr Values kCopyDefaults[] = {
    {"n-layer", "2"},          {"n-head", "4"},      {"n-embd", "64"},
    {"batch-size", "64"},      {"max-iters", "600"}, {"eval-interval", "200"},
    {"learning-rate", "3e-3"}, {"min-lr", "1e-5"},   {"warmup-iters", "50"}};
constexpr Values kReverseDefaults[] = {
    {"n-layer", "2"},          {"n-head", "4"},       {"n-embd", "64"},
    {"batch-size", "128"},     {"max-iters", "5000"}, {"eval-interval", "500"},
    {"learning-rate", "3e-3"}, {"min-lr", "1e-5"},    {"warmup-iters", "200"}};

constexpr Preset kTaskTable[] = {
    {"lm", kLmDefaults},   {"mlm", kMlmDefaults},   {"translate", kTranslateDefaults},
    {"numbers", kNumbers}, {"copy", kCopyDefaults}, {"reverse", kReverseDefaults}};

}  // namespace

std::span<const TrainKey> train_keys() { return kKeyTable; }
std::span<const Preset> train_presets() { return kPresetTable; }

const Preset& task_defaults(std::string_view task) {
  for (const Preset& entry : kTaskTable) {
    if (entry.name == task) return entry;
  }
  return kTaskTable[0];
}

}  // namespace headlight::recipes
