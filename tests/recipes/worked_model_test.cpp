// The model that is small enough to follow by hand.
#include <algorithm>

#include "tests/places.h"
#include "tests/recipes/support.h"

namespace headlight::recipes {
namespace {

TEST(AWorkedModel, has_the_sizes_of_the_tutorial) {
  const WorkedModel worked = make_worked_model(default_sentences(), {.heads = 1});
  EXPECT_EQ(worked.tokenizer.size(), 29);
  const models::Seq2SeqConfig& config = worked.model->seq2seq_config();
  EXPECT_EQ(config.d_model, 6);
  EXPECT_EQ(config.head_dim, 4);
  for (const nn::ParameterHandle& parameter : worked.model->parameters()) {
    if (parameter->name() == "encoder.layers.0.self_attn.q_proj.weight") {
      EXPECT_EQ(parameter->shape(), (tensor::Shape{4, 6}));
    }
    if (parameter->name() == "encoder.layers.0.self_attn.out_proj.weight") {
      EXPECT_EQ(parameter->shape(), (tensor::Shape{6, 4}));
    }
  }
}

TEST(AWorkedModel, has_two_heads_unless_told_otherwise) {
  const WorkedModel worked = make_worked_model(default_sentences());
  EXPECT_EQ(worked.model->seq2seq_config().encoder_attention_heads, 2);
  EXPECT_EQ(worked.model->seq2seq_config().decoder_attention_heads, 2);
}

TEST(AWorkedModel, has_weights_that_are_uniform_between_0_and_1_and_depend_on_the_seed) {
  const WorkedModel first = make_worked_model(default_sentences(), {.seed = 1});
  const WorkedModel again = make_worked_model(default_sentences(), {.seed = 1});
  const WorkedModel other = make_worked_model(default_sentences(), {.seed = 2});
  const nn::StateDict state = first.model->state();
  for (const auto& [name, numbers] : state) {
    EXPECT_TRUE(same_bits(numbers, again.model->state().at(name))) << name;
    if (numbers.rank() < 2) continue;
    EXPECT_FALSE(same_bits(numbers, other.model->state().at(name))) << name;
    const float* begin = numbers.data<float>();
    const auto [least, most] = std::minmax_element(begin, begin + numbers.elements());
    EXPECT_GE(*least, 0) << name;
    EXPECT_LT(*most, 1) << name;
    EXPECT_GT(*most, 0.5) << name;
  }
}

TEST(AWorkedModel, has_a_size_that_is_known_before_it_is_made) {
  const WorkedModelOptions options{
      .width = 10, .heads = 3, .head_width = 5, .hidden = 7, .layers = 2, .pre_norm = true};
  int64_t numbers = 0;
  const WorkedModel worked = make_worked_model(default_sentences(), options);
  for (const nn::ParameterHandle& parameter : worked.model->parameters()) {
    numbers += parameter->shape().elements();
  }
  EXPECT_EQ(parameter_count(default_sentences(), options), numbers);
}

TEST(AWorkedModel, learns_texts_of_special_tokens_as_these_where_that_is_asked) {
  const std::vector<SentencePair> sentences = {{"you <end>", "win"}};
  const WorkedModel plain = make_worked_model(sentences);
  const WorkedModel special = make_worked_model(sentences, {.special = true});
  const auto second = [](const WorkedModel& worked) {
    return sentence_batch(worked).source_ids.data<int64_t>()[1];
  };
  EXPECT_EQ(second(plain), *plain.tokenizer.special().unk);
  EXPECT_EQ(second(special), *special.tokenizer.special().eos);
}

TEST(AWorkedModel, has_the_sentences_of_the_embedded_model_by_default) {
  std::string text;
  for (const SentencePair& pair : default_sentences()) {
    text += pair.source + "\t" + pair.target + "\n";
  }
  EXPECT_EQ(
      text::read_text(base::real_files(),
                      tests::source_folder() + "/headlight/recipes/embedded/thrones/sentences.tsv"),
      text);
}

TEST(AWorkedModel, that_cannot_be_is_refused) {
  const auto refused = [](std::vector<SentencePair> sentences, WorkedModelOptions options) {
    return refusal_of([&] { make_worked_model(std::move(sentences), options); }).text;
  };
  expect_has(refused({}, {}), "worked model (sentences): there are none");
  expect_has(refused({{"a", "b"}, {"c", " "}}, {}), "(sentence 2): its target has no words");
  expect_has(refused({{"", "b"}}, {}), "(sentence 1): its source has no words");
  expect_has(refused(default_sentences(), {.width = 5}),
             "(width): is 5, sinusoidal positions need");
  expect_has(refused(default_sentences(), {.heads = 0}), "(heads): is 0, it must be within 1 and");
  expect_has(refused(default_sentences(), {.head_width = -1}), "(head width): is -1");
}

}  // namespace
}  // namespace headlight::recipes
