// Answers beside those in tests/golden/studio, which the page's tests read too: the same members in
// the same order, the same words, numbers that differ by rounding alone. With
// HEADLIGHT_WRITE_GOLDEN=1 they are written anew.
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "tests/places.h"
#include "tests/server/studio_room.h"

namespace headlight::test {
namespace {

using io::Json;

constexpr const char* kSentence = "When you play the game of thrones";

// Members whose values are another's each time.
bool is_of_the_moment(std::string_view name) {
  return name == "id" || name == "bytes" || name == "seconds" || name == "trace_bytes" ||
         name == "version" || name == "output_difference";
}

// The first difference, as a path with both values; empty: none.
std::string difference(const Json& golden, const Json& found, const std::string& path) {
  const auto told = [&] {
    return path + ": " + io::json_text(golden).substr(0, 120) + " became " +
           io::json_text(found).substr(0, 120);
  };
  if (golden.object() != nullptr && found.object() != nullptr) {
    if (golden.object()->size() != found.object()->size()) return told() + " (members)";
    for (size_t i = 0; i < golden.object()->size(); ++i) {
      const auto& [name, value] = (*golden.object())[i];
      if ((*found.object())[i].first != name) return path + "." + name + ": another member";
      if (is_of_the_moment(name)) continue;
      std::string inside = difference(value, (*found.object())[i].second, path + "." + name);
      if (!inside.empty()) return inside;
    }
    return "";
  }
  if (golden.array() != nullptr && found.array() != nullptr) {
    if (golden.array()->size() != found.array()->size()) return told() + " (items)";
    for (size_t i = 0; i < golden.array()->size(); ++i) {
      std::string inside = difference((*golden.array())[i], (*found.array())[i],
                                      path + "[" + std::to_string(i) + "]");
      if (!inside.empty()) return inside;
    }
    return "";
  }
  if (golden.number() && found.number()) {
    const double size = std::max({1.0, std::fabs(*golden.number()), std::fabs(*found.number())});
    return std::fabs(*golden.number() - *found.number()) <= 1e-4 * size ? "" : told();
  }
  // Letters of floats differ in their last bits.
  const bool are_letters = path.ends_with("thumbnail.values") || path.ends_with(".weights");
  if (are_letters && golden.text() != nullptr && found.text() != nullptr) {
    return golden.text()->size() == found.text()->size() ? "" : told();
  }
  return golden == found ? "" : told();
}

class StudioGolden : public testing::Test {
 protected:
  void check(const std::string& name, const Answer& answer, int status = 200) {
    ASSERT_EQ(answer.status, status) << answer.body.substr(0, 300);
    const std::string path =
        (std::filesystem::path(tests::source_folder()) / "tests/golden/studio" / (name + ".json"))
            .string();
    if (std::getenv("HEADLIGHT_WRITE_GOLDEN") != nullptr) {
      base::write_file(base::real_files(), path, io::json_text(answer.json()) + "\n");
      return;
    }
    const Json golden = io::read_json(base::real_files(), path);
    EXPECT_EQ(difference(golden, answer.json(), name), "");
  }

  StudioRoom room_;
};

TEST_F(StudioGolden, answers_have_the_form_that_the_page_knows) {
  check("models", room_.get("/api/models"));
  const Answer trace =
      room_.post("/api/trace", Json::Object{{"text", kSentence}, {"heads", 2}, {"backward", true}});
  check("trace", trace);
  const std::string base = "/api/trace/" + *trace.json().find("id")->text();
  check("cell", room_.get(base + "/cell?cell=encoder.0.self.head.1.scores[3,5]"));
  check("edges", room_.get(base + "/edges?name=encoder.0.self.head.1.weights&mass=0.5"));
  check("heads", room_.get(base + "/heads?size=4&importance=1&behaviour=1"));
  check("pushes", room_.get(base + "/pushes?head=decoder.0.cross.1&at=2&best=3"));
  check("tokenize", room_.post("/api/tokenize", Json::Object{{"text", "When you fly"}}));
  check("check",
        room_.post("/api/check", Json::Object{{"trace", *trace.json().find("id")->text()},
                                              {"cell", "encoder.0.self.head.1.scaled_scores[3,5]"},
                                              {"answer", "17"}}));
}

TEST_F(StudioGolden, predictions_have_the_form_that_the_page_knows) {
  check("predict",
        room_.post("/api/predict", Json::Object{{"model", "stories"},
                                                {"prompt", "Anna has three apples. She gives"},
                                                {"max_new_tokens", 2},
                                                {"stages", true},
                                                {"lens", true},
                                                {"heads_off", Json::Array{"decoder.0.self.1"}},
                                                {"attention", Json::Array{"decoder.1.self.0"}}}));
  check("lessons", room_.get("/api/lessons?lang=en"));
  check("error", room_.post("/api/trace", Json::Object{{"text", kSentence}, {"heads", 0}}), 400);
}

}  // namespace
}  // namespace headlight::test
