// Building what a run works with.
#include "apps/cli/train_setup.h"

#include <algorithm>
#include <array>

#include "apps/cli/numbers.h"

namespace headlight::cli {
namespace {

using base::Error;
using base::ErrorKind;

constexpr int64_t kHeldOutCases = 500;     // of each kind, for the validation loss
constexpr int64_t kShortestContext = 256;  // of encoder-decoders: room for longer sentences
constexpr size_t kSamples = 3;

nn::Activation activation_of(const std::string& name) {
  if (name == "relu") return nn::Activation::relu;
  return name == "gelu" ? nn::Activation::gelu : nn::Activation::gelu_tanh;
}

models::SpecialIds special_ids(const text::Tokenizer& tokenizer, bool decodes_from_start) {
  const text::SpecialIds& ids = tokenizer.special();
  models::SpecialIds special{.padding = ids.pad, .begin = ids.bos, .end = ids.eos};
  if (decodes_from_start) special.decoder_start = ids.bos;
  return special;
}

// Weights, gradients and two moments.
void check_memory(base::FileSystem& files, int64_t parameters) {
  constexpr uint64_t kBytes = 4 * sizeof(float);
  const uint64_t needed = static_cast<uint64_t>(parameters) * kBytes;
  const uint64_t available = base::available_memory(files);
  if (needed <= available) return;
  throw Error(ErrorKind::out_of_memory, "train", std::to_string(parameters) + " parameters",
              "weights, gradients and moments need " + base::memory_text(needed) + ", " +
                  base::memory_text(available) + " free");
}

text::Tokenizer tokenizer_for(base::FileSystem& files, const TrainSettings& settings,
                              const std::vector<std::string_view>& training,
                              const std::vector<std::string_view>& all,
                              const std::vector<std::string>& special) {
  const std::string& kind = settings.tokenizer;
  if (!settings.init.empty()) return text::load_tokenizer(files, settings.init);
  if (kind == "char") return text::char_tokenizer(all, special);
  if (kind == "word") return text::word_tokenizer(training, text::sequence_tokens());
  if (kind.starts_with("bpe:")) {
    const int64_t size = integer_of("tokenizer", kind.substr(4), {256, 1 << 20});
    std::vector<std::string> tokens = special;
    if (tokens.empty()) tokens.push_back("<|endoftext|>");
    return text::train_bpe(training, {.vocabulary_size = size, .special = tokens});
  }
  if (kind == "gpt2" && !base::exists(files, kind)) {
    throw Error(ErrorKind::bad_input, "tokenizer", kind,
                "its files are not part of this program; give the folder that holds vocab.json and "
                "merges.txt, or train one with bpe:8000");
  }
  return text::load_tokenizer(files, kind);
}

std::unique_ptr<models::Model> initial_model(base::FileSystem& files, const TrainSettings& settings,
                                             std::string_view type) {
  std::unique_ptr<models::Model> model = models::load_model(files, settings.init);
  if (model->type() != type) {
    throw Error(ErrorKind::bad_input, "model", settings.init,
                "is of type " + std::string(model->type()) + ", task " + settings.task +
                    " trains " + std::string(type));
  }
  return model;
}

std::unique_ptr<models::Model> make_gpt(base::FileSystem& files, const TrainSettings& s,
                                        const text::Tokenizer& tokenizer) {
  const models::GptConfig config{.block_size = s.block_size,
                                 .vocab_size = tokenizer.size(),
                                 .n_layer = s.n_layer,
                                 .n_head = s.n_head,
                                 .n_embd = s.n_embd,
                                 .n_inner = s.d_ff,
                                 .dropout = static_cast<float>(s.dropout),
                                 .bias = s.bias,
                                 .activation = activation_of(s.activation),
                                 .tied_head = s.tie_embeddings,
                                 .special_ids = special_ids(tokenizer, false)};
  check_memory(files, models::parameter_count(config));
  auto model = std::make_unique<models::Gpt>(config);
  model->draw(static_cast<uint64_t>(s.seed));
  return model;
}

std::unique_ptr<models::Model> make_seq2seq(base::FileSystem& files, const TrainSettings& s,
                                            const text::Tokenizer& tokenizer, int64_t longest) {
  const bool pre = s.norm == "pre";
  const int64_t hidden = s.d_ff > 0 ? s.d_ff : 4 * s.n_embd;
  const models::Seq2SeqConfig config{
      .vocab_size = tokenizer.size(),
      .decoder_vocab_size = tokenizer.size(),
      .d_model = s.n_embd,
      .encoder_layers = s.n_encoder_layer > 0 ? s.n_encoder_layer : s.n_layer,
      .decoder_layers = s.n_decoder_layer > 0 ? s.n_decoder_layer : s.n_layer,
      .encoder_attention_heads = s.n_head,
      .decoder_attention_heads = s.n_head,
      .encoder_ffn_dim = hidden,
      .decoder_ffn_dim = hidden,
      .max_position_embeddings =
          s.block_size > 0 ? s.block_size : std::max(kShortestContext, longest),
      .activation = activation_of(s.activation),
      .normalize_before = pre,
      .final_layer_norm = pre,
      .tied_head = s.tie_embeddings,
      .learned_positions = s.positions == "learned",
      .dropout = static_cast<float>(s.dropout),
      .special_ids = special_ids(tokenizer, true)};
  if (longest > config.max_position_embeddings) {
    throw Error(ErrorKind::bad_input, "block_size", std::to_string(s.block_size),
                "the longest sentence has " + std::to_string(longest) + " tokens");
  }
  check_memory(files, models::parameter_count(config));
  auto model = std::make_unique<models::Seq2Seq>(config);
  model->draw(static_cast<uint64_t>(s.seed));
  return model;
}

std::string counts_text(int64_t training, int64_t validation) {
  return std::to_string(training) + " tokens to train on, " + std::to_string(validation) +
         " to validate";
}

TrainSetup lm_setup(base::FileSystem& files, const TrainSettings& s) {
  const std::string text = text::read_text(files, s.data, s.encoding);
  const std::string other = s.valid.empty() ? "" : text::read_text(files, s.valid, s.encoding);
  data::TextSplit split{text, other};
  if (s.valid.empty()) split = data::split_text(text);
  TrainSetup setup;
  setup.tokenizer = tokenizer_for(files, s, {split.train}, {split.train, split.valid}, {});
  setup.model =
      s.init.empty() ? make_gpt(files, s, *setup.tokenizer) : initial_model(files, s, "gpt2");
  const int64_t block = setup.model->context_length();
  data::TrainingWindows training(data::tokenize(*setup.tokenizer, split.train), block, s.data);
  data::ValidationWindows validation(data::tokenize(*setup.tokenizer, split.valid), block,
                                     s.valid.empty() ? s.data : s.valid);
  setup.data_text = counts_text(training.tokens().size(), validation.target_count());
  setup.data_sum = train::file_sum(files, s.data);
  setup.task = train::lm_task(std::move(training), std::move(validation), s.batch_size,
                              static_cast<uint64_t>(s.seed));
  return setup;
}

std::vector<data::Pair> read_pairs(base::FileSystem& files, const TrainSettings& s,
                                   const std::string& path) {
  return data::parse_pairs(text::read_text(files, path, s.encoding), path);
}

data::PairSplit split_of(base::FileSystem& files, const TrainSettings& s) {
  std::vector<data::Pair> pairs;
  if (s.source.empty()) {
    pairs = read_pairs(files, s, s.data);
  } else {
    const std::string source = text::read_text(files, s.source, s.encoding);
    const std::string target = text::read_text(files, s.target, s.encoding);
    pairs = data::align_pairs({source, s.source}, {target, s.target});
  }
  if (!s.valid.empty()) return {std::move(pairs), read_pairs(files, s, s.valid)};
  return data::split_pairs(std::move(pairs), s.source.empty() ? s.data : s.source);
}

std::vector<std::string_view> both_sides(const std::vector<data::Pair>& pairs) {
  std::vector<std::string_view> texts;
  for (const data::Pair& pair : pairs) {
    texts.push_back(pair.source);
    texts.push_back(pair.target);
  }
  return texts;
}

TrainSetup translate_setup(base::FileSystem& files, const TrainSettings& s) {
  const data::PairSplit split = split_of(files, s);
  const std::vector<std::string_view> training_texts = both_sides(split.train);
  std::vector<std::string_view> all = training_texts;
  for (const std::string_view text : both_sides(split.valid)) all.push_back(text);
  TrainSetup setup;
  setup.tokenizer = tokenizer_for(files, s, training_texts, all, text::sequence_tokens());
  const text::SpecialIds& special = setup.tokenizer->special();
  if (!special.pad || !special.bos || !special.eos) {
    throw Error(ErrorKind::bad_input, "tokenizer", s.tokenizer,
                "translation needs tokens for padding, start and end");
  }
  const std::string name = s.source.empty() ? s.data : s.source;
  data::PairSet training =
      data::encode_pairs(*setup.tokenizer, *setup.tokenizer, split.train, name);
  data::PairSet validation = data::encode_pairs(*setup.tokenizer, *setup.tokenizer, split.valid,
                                                s.valid.empty() ? name : s.valid);
  const int64_t longest = std::max({training.longest_source(), training.longest_target() + 1,
                                    validation.longest_source(), validation.longest_target() + 1});
  setup.model = s.init.empty() ? make_seq2seq(files, s, *setup.tokenizer, longest)
                               : initial_model(files, s, "headlight-seq2seq");
  setup.data_text = counts_text(training.source_tokens() + training.target_tokens(),
                                validation.source_tokens() + validation.target_tokens());
  setup.data_sum = train::file_sum(files, name);
  for (size_t i = 0; i < std::min(kSamples, split.valid.size()); ++i)
    setup.samples.push_back(split.valid[i * (split.valid.size() / kSamples)]);
  const data::PairBatchOptions options{.batch_tokens = s.batch_tokens,
                                       .ids = {*special.pad, *special.bos, *special.eos},
                                       .seed = static_cast<uint64_t>(s.seed)};
  setup.task = train::pair_task(data::PairBatches(std::move(training), options, name),
                                std::move(validation), options.ids);
  return setup;
}

TrainSetup generated_setup(base::FileSystem& files, const TrainSettings& s) {
  TrainSetup setup;
  setup.generated = data::generated_task(s.task);
  setup.tokenizer = setup.generated->tokenizer();
  const int64_t longest =
      std::max(setup.generated->longest_source(), setup.generated->longest_target() + 1);
  setup.model = s.init.empty() ? make_seq2seq(files, s, *setup.tokenizer, longest)
                               : initial_model(files, s, "headlight-seq2seq");
  setup.data_text = "cases made as they are needed";
  setup.data_sum = s.task;
  setup.task = train::generated_task(*setup.generated, s.batch_size, static_cast<uint64_t>(s.seed),
                                     kHeldOutCases);
  return setup;
}

}  // namespace

TrainSetup make_train_setup(base::FileSystem& files, const TrainSettings& settings) {
  if (settings.is_generated()) return generated_setup(files, settings);
  return settings.task == "lm" ? lm_setup(files, settings) : translate_setup(files, settings);
}

train::TrainerOptions trainer_options(const TrainSettings& s, int64_t model_width) {
  using optim::OptimizerKind;
  using optim::ScheduleKind;
  constexpr std::array<std::pair<std::string_view, ScheduleKind>, 4> kSchedules = {
      {{"cosine", ScheduleKind::cosine},
       {"noam", ScheduleKind::noam},
       {"inverse_sqrt", ScheduleKind::inverse_sqrt},
       {"constant", ScheduleKind::constant}}};
  const auto schedule =
      std::ranges::find(kSchedules, s.schedule, &std::pair<std::string_view, ScheduleKind>::first);
  return {.optimizer = {.kind = s.optimizer == "adamw"  ? OptimizerKind::adamw
                                : s.optimizer == "adam" ? OptimizerKind::adam
                                                        : OptimizerKind::sgd,
                        .learning_rate = s.learning_rate,
                        .beta1 = s.beta1,
                        .beta2 = s.beta2,
                        .momentum = s.beta1,
                        .weight_decay = s.weight_decay,
                        .grad_clip = s.grad_clip},
          .schedule = {.kind = schedule->second,
                       .learning_rate = s.learning_rate,
                       .min_learning_rate = s.min_lr,
                       .warmup_iters = s.warmup_iters,
                       .lr_decay_iters = s.lr_decay_iters,
                       .d_model = model_width},
          .accumulation = s.gradient_accumulation_steps,
          .label_smoothing = static_cast<float>(s.label_smoothing),
          .seed = static_cast<uint64_t>(s.seed)};
}

}  // namespace headlight::cli
