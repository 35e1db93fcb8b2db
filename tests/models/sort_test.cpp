// shared/data/gpt-nano-sort: a trained GPT with every intermediate, read as it was published.
#include "tests/models/support.h"

namespace headlight::models {
namespace {

const std::string kSortFolder = shared("data/gpt-nano-sort");

class NanoSort : public ModelTest {
 protected:
  void SetUp() override {
    SKIP_WITHOUT(kSortFolder);
    model_ = load_model(base::real_files(), kSortFolder);
  }
  std::unique_ptr<Model> model_;
};

TEST_F(NanoSort, has_every_intermediate_of_the_published_run) {
  const nn::StateDict partials = read_tensors(kSortFolder + "/partials.safetensors");
  Keeper keeper;
  Context context = inference_context();
  context.observer = &keeper;
  const Tensor ids = io::as_int64(partials.at("idx"), "idx");
  model_->logits(context, model_->forward(context, {.ids = ids}));

  const std::pair<const char*, const char*> names[] = {
      {"tok_emb", "decoder.embedding"},
      {"x", "decoder.sum"},
      {"ln1", "decoder.0.norm_1.output"},
      {"qkv", "decoder.0.self.projected"},
      {"q", "decoder.0.self.query"},
      {"k", "decoder.0.self.key"},
      {"v", "decoder.0.self.value"},
      {"attSm", "decoder.0.self.weights"},
      {"y", "decoder.0.self.concatenated"},
      {"yProj", "decoder.0.self.output"},
      {"attnResid", "decoder.0.norm_2.input"},
      {"ln2", "decoder.0.norm_2.output"},
      {"fc", "decoder.0.ffn.hidden"},
      {"gelu", "decoder.0.ffn.activated"},
      {"mlp", "decoder.0.ffn.output"},
      {"mlpResid", "decoder.0.residual_out"},
      {"block0", "decoder.0.residual_out"},
      {"block1", "decoder.1.residual_out"},
      {"block2", "decoder.2.residual_out"},
      {"ln_f", "decoder.output"},
      {"lm_head", "logits"},
      {"probs", "probabilities"},
  };
  for (const auto& [published, place] : names) {
    ASSERT_TRUE(keeper.seen.contains(place)) << place;
    EXPECT_LE(distance(keeper.seen[place], partials.at(published)), 1e-5F) << place;
  }
  EXPECT_TRUE(
      same_bits(keeper.seen["decoder.1.residual_in"], keeper.seen["decoder.0.residual_out"]));
  const Tensor positions = keeper.seen["decoder.positions"];
  for (int64_t b = 0; b < positions.size(0); ++b) {
    EXPECT_TRUE(same_bits(positions.slice(0, b, 1), partials.at("pos_emb")));
  }
}

TEST_F(NanoSort, scores_before_the_mask_are_those_published_where_they_count) {
  const nn::StateDict partials = read_tensors(kSortFolder + "/partials.safetensors");
  Keeper keeper({"decoder.0.self.masked_scores"});
  Context context = inference_context();
  context.observer = &keeper;
  model_->forward(context, {.ids = io::as_int64(partials.at("idx"), "idx")});
  const std::vector<float> scores = floats(keeper.seen["decoder.0.self.masked_scores"]);
  const std::vector<float> published = floats(partials.at("att"));
  ASSERT_EQ(scores.size(), published.size());
  for (size_t i = 0; i < scores.size(); ++i) {
    if (!std::isfinite(scores[i])) continue;
    EXPECT_NEAR(scores[i], published[i], 1e-5);
  }
}

TEST_F(NanoSort, sorts_all_729_inputs_of_six_letters) {
  constexpr int64_t kCases = 729, kLetters = 6;
  std::vector<int64_t> inputs;
  std::vector<std::vector<int64_t>> sorted;
  for (int64_t number = 0; number < kCases; ++number) {
    std::vector<int64_t> letters;
    for (int64_t rest = number, i = 0; i < kLetters; ++i, rest /= 3) letters.push_back(rest % 3);
    inputs.insert(inputs.end(), letters.begin(), letters.end());
    std::sort(letters.begin(), letters.end());
    sorted.push_back(letters);
  }
  Context context = inference_context();
  Decoding decoding = model_->start(context);
  Tensor logits = decoding.read(context, integers({kCases, kLetters}, inputs));
  for (size_t i = 0; i < kLetters; ++i) {
    std::vector<int64_t> next;
    for (size_t b = 0; b < kCases; ++b) {
      const float* row = logits.data<float>() + 3 * b;
      next.push_back(std::max_element(row, row + 3) - row);
      ASSERT_EQ(next.back(), sorted[b][i]) << "input " << b << ", letter " << i;
    }
    if (decoding.room() > 0) logits = decoding.read(context, integers({kCases, 1}, next));
  }
  EXPECT_EQ(decoding.room(), 0);
}

}  // namespace
}  // namespace headlight::models
