// Loads the state dict of a PyTorch nn.MultiheadAttention, saved with safetensors, and runs it:
//   load_pytorch_weights [module.safetensors heads]
// Without arguments it writes a small one first, example_attention.safetensors, with the names and
// shapes PyTorch uses.
#include <cstdio>
#include <string>

#include "headlight/io/io.h"
#include "headlight/nn/nn.h"

using namespace headlight;

namespace {

// What torch.nn.MultiheadAttention(embed_dim=8, num_heads=2).state_dict() holds.
void write_example(const std::string& path) {
  const nn::MultiHeadAttention attention(
      {.query_width = 8, .heads = 2, .names = nn::names_of(nn::AttentionLayout::torch)});
  nn::draw_xavier_uniform(attention.parameters(), /*seed=*/1);
  std::vector<io::NamedTensor> tensors;
  for (const auto& [name, tensor] : nn::save_state(attention.parameters())) {
    tensors.push_back({name, tensor});
  }
  io::write_safetensors(base::real_files(), path, tensors);
}

nn::MultiHeadAttention load(const std::string& path, int64_t heads) {
  const io::Safetensors file = io::open_safetensors(base::real_files(), path);
  nn::StateDict state;
  for (const auto& entry : file.entries()) state[entry.name] = file.load(entry);
  return nn::load_attention(state, {.layout = nn::AttentionLayout::torch, .heads = heads});
}

}  // namespace

int main(int count, char** arguments) {
  const bool given = count == 3;
  const std::string path = given ? arguments[1] : "example_attention.safetensors";
  try {
    if (!given) write_example(path);
    const nn::MultiHeadAttention attention = load(path, given ? std::stoll(arguments[2]) : 2);
    for (const auto& parameter : attention.parameters()) {
      std::printf("%-16s %s\n", parameter->name().c_str(), parameter->shape().text().c_str());
    }
    base::ThreadPool threads;
    tensor::Arena arena;
    autograd::Context context{.threads = threads, .arena = arena};
    const nn::Embedding input("input", 3, attention.options().query_width);
    nn::draw_normal(input.parameters(), /*seed=*/2, /*deviation=*/1);
    const auto rows = tensor::Tensor::of({1, 3}, std::vector<int64_t>{0, 1, 2});
    const nn::Value output = attention.forward(context, input.forward(context, rows));
    std::printf("first row of the output:");
    for (int64_t i = 0; i < output.size(2); ++i) {
      std::printf(" %.4f", output.data().data<float>()[i]);
    }
    std::printf("\n");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
