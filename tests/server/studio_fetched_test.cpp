// A published model in the studio, on a text of 512 tokens: its heads, and why a cell is what it
// is.
#include "tests/fetched.h"
#include "tests/server/studio_room.h"

namespace headlight::test {
namespace {

using io::Json;

TEST(LongFetchedStudio, shows_the_heads_and_cells_of_smollm2_on_512_tokens) {
  const std::string path = tests::fetched("smollm2") + "/SmolLM2-135M-Instruct.Q4_1.gguf";
  SKIP_UNLESS_FETCHED(path);
  StudioRoom room("", {path});
  std::string text;
  for (int i = 0; i < 512; ++i) text += i % 2 == 0 ? " river" : " stone";
  const std::string model = "SmolLM2-135M-Instruct.Q4_1.gguf";
  const Answer traced =
      room.post("/api/trace", Json::Object{{"model", model}, {"text", text}, {"continue", 0}});
  ASSERT_EQ(traced.status, 200) << traced.body.substr(0, 300);
  const std::string trace = "/api/trace/" + *traced.json().find("id")->text();
  const Answer heads = room.get(trace + "/heads");
  ASSERT_EQ(heads.status, 200);
  EXPECT_EQ(heads.json().find("heads")->array()->size(), 270U);
  for (const char* cell : {"decoder.18.self.head.6.weights[511,510]",
                           "decoder.29.ffn.output[511,3]", "logits[511,7]"}) {
    const Answer why = room.get(trace + "/cell?cell=" + cell);
    ASSERT_EQ(why.status, 200) << why.body.substr(0, 300);
    const double value = *why.json().find("value")->number();
    EXPECT_NEAR(*why.json().find("combined")->number(), value, 1e-5 * (1 + std::abs(value)))
        << cell;
  }
}

}  // namespace
}  // namespace headlight::test
