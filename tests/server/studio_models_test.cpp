// GET /api/models of folders that hold more than a model; and what is shown without a key.
#include <filesystem>

#include "apps/server/server.h"
#include "tests/base/temporary_folder.h"
#include "tests/server/raw_client.h"
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

// What the page needs to ask for the key, and nothing else.
TEST(StudioKey, is_needed_for_all_but_the_page_and_its_texts) {
  recipes::FilesWithEmbedded files;
  base::ThreadPool threads(1);
  server::Application application(files, threads,
                                  {.models = {"stories"}, .http = {.port = 0, .api_key = "sk-1"}});
  application.start();
  const uint16_t port = application.port();
  const auto status = [&](const std::string& method, const std::string& path, bool has_key) {
    return ask(port, method + " " + path + " HTTP/1.1\r\nhost: 127.0.0.1:" + std::to_string(port) +
                         "\r\ncontent-type: application/json\r\ncontent-length: 2\r\n" +
                         (has_key ? "authorization: Bearer sk-1\r\n" : "") + "\r\n{}")
        .status;
  };
  for (const char* path : {"/", "/studio.js", "/studio.css", "/icon.svg", "/health"}) {
    EXPECT_EQ(ask(port, get(port, path)).status, 200) << path;
  }
  EXPECT_EQ(ask(port, get(port, "/api/texts?lang=ko")).status, 200);
  constexpr const char* kNeeding[][2] = {{"GET", "/metrics"},
                                         {"GET", "/api/models"},
                                         {"POST", "/api/tokenize"},
                                         {"POST", "/api/trace"},
                                         {"GET", "/api/trace/0"},
                                         {"DELETE", "/api/trace/0"},
                                         {"GET", "/api/trace/0/tensors"},
                                         {"GET", "/api/trace/0/cell"},
                                         {"GET", "/api/trace/0/edges"},
                                         {"GET", "/api/trace/0/heads"},
                                         {"GET", "/api/trace/0/pushes"},
                                         {"POST", "/api/predict"},
                                         {"POST", "/api/check"},
                                         {"GET", "/api/lessons"},
                                         {"GET", "/api/lessons/x"},
                                         {"POST", "/api/compare"},
                                         {"POST", "/api/jobs"},
                                         {"GET", "/api/jobs"},
                                         {"GET", "/api/jobs/j1"},
                                         {"GET", "/api/jobs/j1/events"},
                                         {"POST", "/api/jobs/j1/pause"},
                                         {"POST", "/api/jobs/j1/resume"},
                                         {"DELETE", "/api/jobs/j1"},
                                         {"GET", "/api/export/0.html"},
                                         {"GET", "/v1/models"},
                                         {"GET", "/v1/models/stories"},
                                         {"POST", "/v1/completions"},
                                         {"POST", "/v1/chat/completions"},
                                         {"POST", "/v1/embeddings"}};
  for (const auto& [method, path] : kNeeding) {
    EXPECT_EQ(status(method, path, false), 401) << method << " " << path;
    EXPECT_NE(status(method, path, true), 401) << method << " " << path;
  }
}

}  // namespace
}  // namespace headlight::test
