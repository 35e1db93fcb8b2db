// Folders of other families' models with what another program computes for them: comparing.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "tests/models/support.h"

namespace headlight::models {

// How far a model's numbers are from those in its folder's expected.safetensors, as a share of the
// largest of them.
struct FamilyDistance {
  float logits = 0;
  float loss = 0;
  float gradients = 0;
  int64_t words = 0;  // that were written alike, until two were as likely

  void take_in(const FamilyDistance& other) {
    logits = std::max(logits, other.logits);
    loss = std::max(loss, other.loss);
    gradients = std::max(gradients, other.gradients);
    words += other.words;
  }
};

constexpr float kFamilyTolerance = 1e-4F;

class FamilyTest : public ModelTest {
 protected:
  static Batch batch_of(const nn::StateDict& expected) {
    Batch batch{.ids = expected.at("ids"), .targets = expected.at("targets")};
    if (expected.contains("lens")) batch.lens = expected.at("lens");
    if (expected.contains("segments")) batch.segments = expected.at("segments");
    if (expected.contains("source_ids")) batch.source_ids = expected.at("source_ids");
    if (expected.contains("source_lens")) batch.source_lens = expected.at("source_lens");
    return batch;
  }

  float logits_distance(const Model& model, const nn::StateDict& expected, bool training = false) {
    Context context = inference_context();
    context.training = training;
    const Batch batch = batch_of(expected);
    Tensor logits = model.logits(context, model.forward(context, batch)).data();
    if (batch.lens.defined()) logits = without_padding(logits, batch.lens);
    const Tensor& right = expected.at("logits");
    return distance(logits, right) / std::max(largest(right), 1e-6F);
  }

  // Runs backwards; gradients are left in the parameters.
  float loss_distance(const Model& model, const nn::StateDict& expected) {
    Context context = recording_context();
    const Value loss = model.loss(context, batch_of(expected));
    tape_.backward(context, loss);
    return std::abs(loss.item() - *expected.at("loss").data<float>());
  }

  // What is trained; the rest has no gradient there either.
  static nn::Parameters trained_parameters(const Model& model) {
    nn::Parameters all = model.parameters();
    std::erase_if(all, [](const nn::ParameterHandle& one) { return one->frozen(); });
    return all;
  }

  // Of the words that greedy decoding writes; 0 words: the model writes none.
  int64_t expect_words(const Model& model, const nn::StateDict& expected, int64_t prompt_length) {
    if (!expected.contains("words")) return 0;
    const Tensor& words = expected.at("words");
    int64_t compared = 0;
    for (int64_t b = 0; b < words.size(0); ++b) {
      compared += expect_words_of(model, expected, b, prompt_length);
    }
    return compared;
  }

 private:
  // Rows of padding are 0, as they are in the file.
  static Tensor without_padding(const Tensor& rows, const Tensor& lens) {
    Tensor copy = Tensor::zeros(DType::f32, rows.shape());
    for (int64_t b = 0; b < rows.size(0); ++b) {
      const int64_t begin = b * rows.size(1) * rows.size(2);
      std::copy_n(rows.data<float>() + begin, lens.data<int64_t>()[b] * rows.size(2),
                  copy.mutable_data<float>() + begin);
    }
    return copy;
  }

  int64_t expect_words_of(const Model& model, const nn::StateDict& expected, int64_t b,
                          int64_t prompt_length) {
    const Tensor& words = expected.at("words");
    const Tensor& ids = expected.at("ids");
    std::vector<int64_t> read(ids.data<int64_t>() + b * ids.size(1),
                              ids.data<int64_t>() + b * ids.size(1) + prompt_length);
    Batch source;
    if (expected.contains("source_ids")) {
      source.source_ids = expected.at("source_ids").slice(0, b, 1);
      if (expected.contains("source_lens")) {
        source.source_lens = expected.at("source_lens").slice(0, b, 1);
      }
    }
    Context context = inference_context();
    Decoding decoding = model.start(context, source);
    Tensor next = decoding.read(context, integers({1, prompt_length}, read));
    for (int64_t i = 0; i < words.size(1); ++i) {
      Batch whole = source;
      whole.ids = integers({1, static_cast<int64_t>(read.size())}, read);
      EXPECT_TRUE(same_bits(model.next_logits(context, whole), next)) << "word " << i;
      const float* logits = next.data<float>();
      const int64_t best = std::max_element(logits, logits + next.elements()) - logits;
      const float margin = expected.at("margins").data<float>()[b * words.size(1) + i];
      if (margin < kFamilyTolerance * std::max(1.0F, largest(next))) return i;
      const int64_t right = words.data<int64_t>()[b * words.size(1) + i];
      EXPECT_EQ(best, right) << "word " << i;
      if (best != right) return i;
      read.push_back(best);
      if (i + 1 < words.size(1)) next = decoding.read(context, integers({1, 1}, {best}));
    }
    return words.size(1);
  }
};

}  // namespace headlight::models
