// What a recording keeps of a run: steps, values, and which of them are the same.
#include "headlight/autograd/recording.h"

#include "tests/autograd/fixture.h"

namespace headlight::tests {
namespace {

using autograd::Recording;
using autograd::Value;
using tensor::Tensor;

class Recorded : public Autograd {
 protected:
  Context listening_context(Recording& recording) {
    Context context = recording_context();
    context.observer = &recording;
    return context;
  }
};

TEST_F(Recorded, steps_know_what_their_inputs_came_from) {
  Recording recording;
  Context context = listening_context(recording);
  const Value x = leaf({2, 2}, {1, 2, 3, 4});
  const int64_t known = recording.know(x);
  const Value doubled = scale(context, x, 2);
  const Value sum = add(context, doubled, x);
  ASSERT_EQ(recording.steps().size(), 2U);
  const Recording::Step& first = recording.steps()[0];
  const Recording::Step& second = recording.steps()[1];
  EXPECT_EQ(first.report.operation, "scale");
  EXPECT_EQ(first.number("factor"), 2);
  EXPECT_EQ(first.input("input")->source.value, known);
  EXPECT_EQ(second.input("left")->source.value, first.output("output"));
  EXPECT_EQ(second.input("right")->source.value, known);
  EXPECT_EQ(second.input("nothing"), nullptr);
  EXPECT_EQ(second.output("nothing"), Recording::kUnknown);
  EXPECT_EQ(floats(recording.value(second.output("output")).data()), floats(sum.data()));
}

TEST_F(Recorded, parts_and_other_shapes_of_a_value_are_recognised) {
  Recording recording;
  Context context = listening_context(recording);
  const Value x = leaf({2, 6}, std::vector<float>(12, 1));
  const int64_t known = recording.know(x);
  scale(context, autograd::slice(x, -1, 2, 3), 2);
  scale(context, autograd::reshape(x, {3, 4}), 2);
  scale(context, leaf({2, 6}, std::vector<float>(12, 1)), 2);
  const Recording::Source part = recording.steps()[0].input("input")->source;
  EXPECT_EQ(part.value, known);
  EXPECT_EQ(part.begin, (std::vector<int64_t>{0, 2}));
  const Recording::Source reshaped = recording.steps()[1].input("input")->source;
  EXPECT_EQ(reshaped.value, known);
  EXPECT_TRUE(reshaped.is_whole());
  EXPECT_EQ(recording.steps()[2].input("input")->source.value, Recording::kUnknown);
}

TEST_F(Recorded, names_belong_to_values_and_gradients_stay_with_them) {
  Recording recording;
  Context context = listening_context(recording);
  const Value x = leaf({2}, {1, 2});
  {
    const Value scaled = scale(context, x, 3);
    observe(context, "layer", "scaled", scaled);
    tape_.backward(context, scale(context, scaled, 5), Tensor::of({2}, {1, 10}));
  }
  EXPECT_EQ(floats(recording.find("layer.scaled").data()), (std::vector<float>{3, 6}));
  EXPECT_EQ(floats(recording.find("layer.scaled").grad()), (std::vector<float>{5, 50}));
  EXPECT_FALSE(recording.find("layer.other").defined());
}

TEST_F(Recorded, what_is_left_out_is_not_kept_and_what_follows_does_not_know_it) {
  Recording recording({.keeps = [](std::string_view place) { return place.starts_with("kept"); }});
  Context context = listening_context(recording);
  const Value x = leaf({2}, {1, 2});
  const Value dropped = scale(context, x, 3);
  observe(context, "dropped", "scaled", dropped);
  const Value kept = scale(context, dropped, 2);
  observe(context, "kept", "scaled", kept);
  ASSERT_EQ(recording.steps().size(), 2U);
  EXPECT_EQ(recording.steps()[0].report.operation, "scale");
  EXPECT_EQ(recording.steps()[0].input("input")->source.value, Recording::kUnknown);
  EXPECT_EQ(recording.steps()[1].name, "kept.scaled");
}

TEST_F(Recorded, wanted_places_are_kept_without_reports) {
  Recording recording(
      {.wants = [](std::string_view place) { return place == "layer.scaled"; }, .reports = false});
  Context context = listening_context(recording);
  const Value scaled = scale(context, leaf({2}, {1, 2}), 3);
  observe(context, "layer", "scaled", scaled);
  observe(context, "layer", "other", scaled);
  EXPECT_TRUE(recording.steps().empty());
  EXPECT_EQ(floats(recording.seen("layer.scaled")), (std::vector<float>{3, 6}));
  EXPECT_EQ(recording.seen().size(), 1U);
  EXPECT_NE(error_of([&] { recording.seen("layer.other"); }).find("was not shown"),
            std::string::npos);
}

}  // namespace
}  // namespace headlight::tests
