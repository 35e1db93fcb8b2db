// GET /api/models: what it says of folders that hold more than a model.
#include <filesystem>

#include "tests/base/temporary_folder.h"
#include "tests/server/studio_room.h"

namespace headlight::test {
namespace {

using io::Json;

TEST(StudioModels, say_how_close_they_come_to_the_numbers_beside_them) {
  const TemporaryFolder folder;
  const auto put_model = [&](const std::string& name) {
    std::filesystem::create_directories(folder / name);
    for (const base::EmbeddedFile& file : recipes::embedded_files()) {
      if (!file.path.starts_with("stories/")) continue;
      folder.put(name + "/" + std::string(file.path.substr(8)), file.bytes);
    }
    return folder / name;
  };
  std::vector<std::string> models = {put_model("alone"), put_model("close"), put_model("spoiled")};
  folder.put("spoiled/reference.safetensors", "{}");
  {
    StudioRoom room("", {models.front()});
    const auto served = room.models().open("alone");
    const std::vector<int64_t> ids = served->tokenizer->encode("Anna has two");
    autograd::Recording recording(
        {.wants = [](std::string_view place) { return place == "logits"; }, .reports = false});
    tensor::Arena arena;
    autograd::Context context{.threads = room.threads(), .arena = arena, .observer = &recording};
    const tensor::Tensor input = tensor::Tensor::of({1, std::ssize(ids)}, ids);
    served->model().logits(context, served->model().forward(context, {.ids = input}));
    io::write_safetensors(base::real_files(), folder / "close/reference.safetensors",
                          {{"ids", input}, {"logits", recording.seen("logits")}});
  }
  StudioRoom room("", models);
  for (int time = 0; time < 2; ++time) {
    const Json document = room.get("/api/models").json();
    const Json::Array& listed = *document.find("models")->array();
    EXPECT_EQ(io::json_text(*listed[1].find("reference")), "null");
    EXPECT_EQ(io::json_text(*listed[2].find("reference")),
              R"({"file":"reference.safetensors","compared":1,"largest_difference":0.0,)"
              R"("relative":0.0,"first":null})");
    const Json* error = listed[3].find("reference")->find("error");
    ASSERT_NE(error, nullptr);
    EXPECT_NE(error->text()->find("reference.safetensors"), std::string::npos) << *error->text();
  }
}

}  // namespace
}  // namespace headlight::test
