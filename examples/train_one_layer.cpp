// Trains one attention layer to look back: what it gives at a word shall name the word before. The
// loss falls.
#include <cstdio>

#include "headlight/nn/nn.h"
#include "headlight/optim/optim.h"

using namespace headlight;

namespace {

constexpr int64_t kWords = 8;
constexpr int64_t kLength = 16;
constexpr int64_t kWidth = 32;

}  // namespace

int main() {
  base::ThreadPool threads;
  tensor::Arena arena;
  autograd::Tape tape;
  autograd::Context context{.threads = threads, .arena = arena, .tape = &tape, .training = true};

  const nn::Embedding words("words", kWords, kWidth);
  const nn::LearnedPositions positions("positions", kLength, kWidth);
  const nn::MultiHeadAttention attention({.query_width = kWidth, .heads = 4});
  const nn::Linear output("output", {.inputs = kWidth, .outputs = kWords});
  nn::Parameters all;
  for (const auto& parameters :
       {words.parameters(), positions.parameters(), attention.parameters(), output.parameters()})
    all.insert(all.end(), parameters.begin(), parameters.end());
  nn::draw_xavier_uniform(all, /*seed=*/1);
  optim::Optimizer optimizer(
      all, {.kind = optim::OptimizerKind::adam, .learning_rate = 0.01, .weight_decay = 0});

  float first = 0;
  float last = 0;
  for (int step = 1; step <= 200; ++step) {
    const base::Random random(static_cast<uint64_t>(step));
    std::vector<int64_t> ids;
    for (uint64_t i = 0; i < kLength; ++i) ids.push_back(int64_t(random.below(i, kWords)));
    std::vector<int64_t> targets{-1};  // nothing is before the first word: it does not count
    targets.insert(targets.end(), ids.begin(), ids.end() - 1);

    const nn::Value word = words.forward(context, tensor::Tensor::of({1, kLength}, ids));
    const nn::Value place =
        positions.forward(context, nn::position_ids(std::vector<int64_t>{0}, kLength));
    const nn::Value x = autograd::add(context, word, place);
    const nn::Value y = output.forward(context, attention.forward(context, x, {.causal = true}));
    const nn::Value loss =
        autograd::cross_entropy(context, y, tensor::Tensor::of({1, kLength}, targets));
    tape.backward(context, loss);
    optimizer.step(context.execution());
    optimizer.clear_gradients();

    last = loss.item();
    if (step == 1) first = last;
    if (step % 40 == 0 || step == 1) std::printf("step %3d  loss %.4f\n", step, last);
  }
  return last < first / 10 ? 0 : 1;
}
