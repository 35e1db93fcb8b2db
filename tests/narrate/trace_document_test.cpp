// A trace that is kept: the document of a page, its tiles, and files made from it.
#include "headlight/narrate/trace_document.h"

#include "tests/narrate/support.h"

namespace headlight::narrate {
namespace {

using io::Json;

constexpr const char* kThrones = "When you play the game of thrones";

class TraceDocumentTest : public NarrateTest {
 protected:
  TraceDocument made(const ExplainRequest& request) {
    return TraceDocument(threads_, base::real_files(), request, [](const ExplainRequest& asked) {
      return make_subject(base::real_files(), asked);
    });
  }
  // What a page says of the same request.
  Json page_data(ExplainRequest request) {
    request.format = ExplainFormat::html;
    const std::string page = written(Explanation(threads_, base::real_files(), request));
    return data_in(page);
  }
  static Json data_in(const std::string& page) {
    constexpr std::string_view kBegin = "id=\"data\">";
    const size_t begin = page.find(kBegin) + kBegin.size();
    return io::parse_json(page.substr(begin, page.find("</script>", begin) - begin), "page");
  }
};

TEST_F(TraceDocumentTest, is_what_a_page_holds_without_texts_and_values) {
  for (const bool train : {false, true}) {
    const ExplainRequest request{.text = kThrones, .train = train};
    const Json page = page_data(request);
    const Json document = made(request).document();
    for (const auto& [name, value] : *page.object()) {
      if (name == "texts" || name == "runs") continue;
      ASSERT_NE(document.find(name), nullptr) << name;
      EXPECT_EQ(io::json_text(*document.find(name)), io::json_text(value)) << name;
    }
    const Json::Array& runs = *document.find("runs")->array();
    ASSERT_EQ(runs.size(), page.find("runs")->array()->size());
    for (size_t i = 0; i < runs.size(); ++i) {
      for (const auto& [name, value] : *(*page.find("runs")->array())[i].object()) {
        if (name == "values" || name == "backward") continue;
        ASSERT_NE(runs[i].find(name), nullptr) << name;
        EXPECT_EQ(io::json_text(*runs[i].find(name)), io::json_text(value)) << i << " " << name;
      }
    }
  }
}

TEST_F(TraceDocumentTest, keeps_numbers_from_before_training) {
  const TraceDocument trained = made({.text = kThrones, .train = true});
  const TraceDocument untrained = made({.text = kThrones});
  const auto numbers = [](const TraceDocument& document, size_t run, const char* name) {
    return document.tile(run, name, {}).exact;
  };
  for (const char* name : {"decoder.layers.0.fc2.weight", "logits", "gradient.logits", "error"}) {
    EXPECT_TRUE(explain::same_bits(numbers(trained, 0, name), numbers(untrained, 0, name))) << name;
    EXPECT_FALSE(explain::same_bits(numbers(trained, 0, name), numbers(trained, 1, name))) << name;
  }
  EXPECT_GT(trained.bytes(), untrained.bytes());
}

TEST_F(TraceDocumentTest, takes_sentences_and_weights_as_they_are) {
  ExplainRequest request{.text = "cats like"};
  request.pairs = {{"cats like", "milk"}, {"dogs like", "walks"}};
  const TraceDocument first = made(request);
  std::string bytes;
  TextOutput output(bytes);
  std::vector<io::NamedTensor> state;
  for (const auto& [name, values] : first.subject(0).model().state())
    state.push_back({name, values});
  state.front().tensor = tensor::Tensor::zeros(tensor::DType::f32, state.front().tensor.shape());
  io::write_safetensors(output, "weights", state);
  request.weights_bytes = bytes;
  const TraceDocument second = made(request);
  EXPECT_TRUE(explain::same_bits(second.subject(0).model().state().at(state.front().name),
                                 state.front().tensor));
  EXPECT_EQ(first.document().find("sentences")->array()->size(), 2u);
}

TEST_F(TraceDocumentTest, stops_when_nobody_waits) {
  EXPECT_THROW(
      TraceDocument(
          threads_, base::real_files(), {.text = kThrones},
          [](const ExplainRequest& asked) { return make_subject(base::real_files(), asked); },
          [] { return true; }),
      base::Error);
}

TEST_F(TraceDocumentTest, writes_the_page_that_explain_writes) {
  TraceDocument document = made({.text = kThrones});
  std::string page;
  TextOutput output(page);
  document.write_page(output, "tr");
  EXPECT_EQ(io::json_text(data_in(page)),
            io::json_text(page_data({.text = kThrones, .language = "tr"})));
}

TEST_F(TraceDocumentTest, shares_a_model_without_changing_it) {
  auto worked = recipes::make_worked_model(recipes::default_sentences());
  const std::shared_ptr<const models::Model> model = std::move(worked.model);
  const ExplainRequest request{.text = kThrones, .target = "you win or you die"};
  TraceDocument shared(threads_, base::real_files(), request, [&](const ExplainRequest& asked) {
    return make_shared_subject(asked, "shared", model, worked.tokenizer);
  });
  EXPECT_FALSE(shared.run(0).backward);
  EXPECT_THROW(shared.subject(0).changeable_model(), base::Error);
  EXPECT_THROW(make_shared_subject(request, "shared", model, std::nullopt), base::Error);
}

TEST_F(TraceDocumentTest, gives_matrices_as_csv_with_their_labels) {
  const TraceDocument document = made({.text = kThrones});
  const std::string csv = tensor_csv(document.trace(0), "encoder.0.self.head.1.weights");
  EXPECT_TRUE(
      csv.starts_with("encoder.0.self.head.1.weights,When,you,play,the,game,of,thrones\r\nWhen,0."))
      << csv;
  EXPECT_EQ(std::ranges::count(csv, '\n'), 8);
  const tensor::Tensor weights = document.trace(0).values("encoder.0.self.head.1.weights");
  EXPECT_NE(csv.find("," + io::number_text(weights.data<float>()[48]) + "\r\n"), std::string::npos);
  const std::string row = tensor_csv(document.trace(0), "encoder.0.norm_1.mean");
  EXPECT_EQ(std::ranges::count(row, '\n'), 2) << row;
  for (const char* name : {"encoder.0.self.weights", "encoder.0.self.weight"}) {
    EXPECT_THROW(tensor_csv(document.trace(0), name), base::Error) << name;
  }
  // What is hidden is empty.
  const std::string hidden = tensor_csv(document.trace(0), "decoder.0.self.head.0.masked_scores");
  EXPECT_NE(hidden.find(",\r\n"), std::string::npos) << hidden;
}

TEST_F(TraceDocumentTest, draws_matrices) {
  const TraceDocument document = made({.text = kThrones});
  const std::string svg =
      tensor_svg(document.trace(0), Catalogue::of("en"), "encoder.0.self.head.1.weights");
  EXPECT_TRUE(svg.starts_with("<svg") || svg.starts_with("<?xml")) << svg.substr(0, 60);
  EXPECT_NE(svg.find("thrones"), std::string::npos);
  size_t cells = 0;
  for (size_t at = svg.find("<title>"); at != svg.npos; at = svg.find("<title>", at + 1)) ++cells;
  EXPECT_GE(cells, 49u);
}

}  // namespace
}  // namespace headlight::narrate
