// Windows copied out of a stream, framed, with words hidden.
#include "headlight/data/masked_windows.h"

#include <algorithm>

namespace headlight::data {
namespace {

using tensor::DType;
using tensor::Tensor;

MaskedBatch empty_masked_batch(int64_t rows, int64_t length, int64_t padding) {
  MaskedBatch batch{.ids = Tensor::uninitialized(DType::i64, {rows, length}),
                    .lens = Tensor::uninitialized(DType::i64, {rows}),
                    .targets = Tensor::uninitialized(DType::i64, {rows, length})};
  std::fill_n(batch.ids.mutable_data<int64_t>(), rows * length, padding);
  std::fill_n(batch.targets.mutable_data<int64_t>(), rows * length, -1);
  return batch;
}

// `count` tokens from `first` on, framed, into one row.
void fill_masked_row(const TokenStream& tokens, const MaskedWindowOptions& options, int64_t first,
                     int64_t count, uint64_t key, int64_t row, MaskedBatch& batch) {
  const int64_t width = batch.ids.size(1);
  const auto before = std::ssize(options.before), after = std::ssize(options.after);
  const auto length = static_cast<size_t>(before + count + after);
  const std::span<int64_t> ids(batch.ids.mutable_data<int64_t>() + row * width, length);
  const std::span<int64_t> targets(batch.targets.mutable_data<int64_t>() + row * width, length);
  std::ranges::copy(options.before, ids.begin());
  tokens.copy(first, ids.subspan(static_cast<size_t>(before), static_cast<size_t>(count)));
  std::ranges::copy(options.after, ids.end() - after);
  hide_words(options.hidden, key, ids, targets);
  batch.lens.mutable_data<int64_t>()[row] = std::ssize(ids);
}

[[noreturn]] void refuse_masked(const std::string& name, const std::string& why) {
  throw base::Error(base::ErrorKind::bad_input, "data", name, why);
}

// Something to hide, in windows that hold it.
void check_masked(const TokenStream& tokens, const MaskedWindowOptions& options,
                  const std::string& name) {
  constexpr int64_t kPiece = 4096;
  const int64_t around = std::ssize(options.before) + std::ssize(options.after);
  if (options.words() < 1) {
    refuse_masked(name, "block_size " + std::to_string(options.block_size) +
                            " leaves no room between the " + std::to_string(around) +
                            " tokens that the tokenizer puts around a text");
  }
  const auto is_word = [&options](int64_t id) {
    return options.hidden.is_word[static_cast<size_t>(id)];
  };
  std::vector<int64_t> ids;
  for (int64_t first = 0; first < tokens.size(); first += std::ssize(ids)) {
    ids.resize(static_cast<size_t>(std::min(kPiece, tokens.size() - first)));
    tokens.copy(first, ids);
    if (std::ranges::any_of(ids, is_word)) return;
  }
  refuse_masked(name, "has no word that could be hidden");
}

uint64_t key_of_row(uint64_t seed, uint64_t step, int64_t row) {
  return base::mix(base::mix(base::mix(seed, step), static_cast<uint64_t>(row)),
                   base::name_key("hidden words of a window"));
}

}  // namespace

MaskedWindowOptions masked_window_options(const text::Tokenizer& tokenizer, int64_t block_size,
                                          const std::string& name) {
  const text::Frame& frame = tokenizer.frame();
  return {.block_size = block_size,
          .before = frame.before,
          .after = frame.after,
          .padding = tokenizer.special().pad.value_or(0),
          .hidden = hidden_words(tokenizer, name)};
}

MaskedTrainingWindows::MaskedTrainingWindows(TokenStream tokens, MaskedWindowOptions options,
                                             const std::string& name)
    : tokens_(std::move(tokens)), options_(std::move(options)) {
  check_masked(tokens_, options_, name);
  if (tokens_.size() >= options_.words()) return;
  refuse_masked(name, "has " + std::to_string(tokens_.size()) + " tokens, block_size " +
                          std::to_string(options_.block_size) + " needs " +
                          std::to_string(options_.words()) +
                          "; give a longer text or a smaller block_size");
}

MaskedBatch MaskedTrainingWindows::batch(uint64_t seed, uint64_t step, int64_t rows) const {
  const base::Random random(base::mix(base::mix(seed, step), base::name_key("masked windows")));
  const auto starts = static_cast<uint64_t>(tokens_.size() - options_.words() + 1);
  MaskedBatch batch = empty_masked_batch(rows, options_.block_size, options_.padding);
  for (int64_t row = 0; row < rows; ++row) {
    const uint64_t first = random.below(static_cast<uint64_t>(row), starts);
    fill_masked_row(tokens_, options_, static_cast<int64_t>(first), options_.words(),
                    key_of_row(seed, step, row), row, batch);
  }
  return batch;
}

MaskedValidationWindows::MaskedValidationWindows(TokenStream tokens, MaskedWindowOptions options,
                                                 const std::string& name)
    : tokens_(std::move(tokens)), options_(std::move(options)) {
  check_masked(tokens_, options_, name);
}

int64_t MaskedValidationWindows::window_count() const noexcept {
  return (tokens_.size() + options_.words() - 1) / options_.words();
}

int64_t MaskedValidationWindows::window_length() const noexcept {
  return options_.block_size - std::max<int64_t>(0, options_.words() - tokens_.size());
}

int64_t MaskedValidationWindows::target_count() const {
  int64_t count = 0;
  for (int64_t window = 0; window < window_count(); ++window) {
    const Tensor targets = batch(window, 1).targets;
    const int64_t* begin = targets.data<int64_t>();
    count += std::count_if(begin, begin + targets.elements(), [](int64_t id) { return id >= 0; });
  }
  return count;
}

MaskedBatch MaskedValidationWindows::batch(int64_t first, int64_t rows) const {
  rows = std::min(rows, window_count() - first);
  MaskedBatch batch = empty_masked_batch(rows, window_length(), options_.padding);
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t begin = (first + row) * options_.words();
    const int64_t count = std::min(options_.words(), tokens_.size() - begin);
    fill_masked_row(tokens_, options_, begin, count, key_of_row(0, 0, first + row), row, batch);
  }
  return batch;
}

}  // namespace headlight::data
