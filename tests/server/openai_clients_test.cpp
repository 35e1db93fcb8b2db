// OpenAI's own clients against a server of ours: Python where HEADLIGHT_PYTHON names one that has
// the package openai, JavaScript where HEADLIGHT_NODE_MODULES names a folder that has it.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>

#include "apps/server/openai/answers.h"
#include "apps/server/server.h"
#include "tests/models/support.h"
#include "tests/places.h"

namespace headlight::server::openai {
namespace {

using io::Json;

constexpr int kNotInstalled = 77;  // the script's word for a missing package
constexpr int kNotFound = 127;     // the shell's for a missing program

Json::Array numbers_json(const std::vector<float>& numbers) {
  Json::Array list;
  for (const float number : numbers) list.emplace_back(static_cast<double>(number));
  return list;
}

class OpenAiOwnClients : public testing::Test {
 protected:
  OpenAiOwnClients() {
    models::Bert bert(models::small_bert());
    models::fill(bert, 4);
    std::filesystem::create_directory(folder_ / "bert");
    models::save_model(files_, folder_ / "bert", bert);
    application_ = std::make_unique<Application>(
        files_, threads_,
        ApplicationOptions{.models = {"stories", folder_ / "bert"},
                           .http = {.port = 0, .api_key = "sk-of-the-test"}});
    application_->start();
  }

  Json expected() {
    tensor::Arena arena;
    autograd::Context context{.threads = threads_, .arena = arena};
    const Models models(files_, {"stories", folder_ / "bert"});
    const auto stories = models.open("stories");
    const std::string prompt = "Once upon a time";
    infer::GenerateOptions options{.ending = {.max_new_tokens = 20}};
    options.ending.tokenizer = &*stories->tokenizer;
    const auto text = infer::generate(context, stories->model(),
                                      {{.ids = stories->tokenizer->encode(prompt)}}, options)
                          .front();
    const auto vectors =
        infer::sentence_vectors(context, models.open("bert")->model(), {{1, 2, 3}, {4, 5}});
    Json::Array lists, codes;
    for (const std::vector<float>& vector : vectors) {
      lists.emplace_back(numbers_json(vector));
      codes.emplace_back(base64_floats(vector));
    }
    return Json::Object{{"url", application_->url() + "v1"},
                        {"key", "sk-of-the-test"},
                        {"models", Json::Array{"stories", "bert"}},
                        {"model", "stories"},
                        {"prompt", prompt},
                        {"text", text.text},
                        {"log_probabilities", numbers_json(text.log_probabilities)},
                        {"embedding_model", "bert"},
                        {"embedding_inputs", Json::Array{Json::Array{1, 2, 3}, Json::Array{4, 5}}},
                        {"vectors", lists},
                        {"base64", codes}};
  }

  // The exit status of a program that reads what is expected.
  int run(const std::string& command) {
    const std::string input = folder_.put("expected.json", io::json_text(expected()));
    const int status = std::system((command + " < " + input).c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  recipes::FilesWithEmbedded files_;
  base::ThreadPool threads_{2};
  test::TemporaryFolder folder_;
  std::unique_ptr<Application> application_;
};

TEST_F(OpenAiOwnClients, the_python_client_works_unchanged) {
  const char* python = std::getenv("HEADLIGHT_PYTHON");
  if (python == nullptr) GTEST_SKIP() << "HEADLIGHT_PYTHON names no Python with the package openai";
  const int status = run(std::string("'") + python + "' '" + tests::source_folder() +
                         "/tests/clients/openai_python.py'");
  if (status == kNotInstalled || status == kNotFound) {
    GTEST_SKIP() << python << " has no package openai";
  }
  EXPECT_EQ(status, 0);
}

TEST_F(OpenAiOwnClients, the_javascript_client_works_unchanged) {
  if (std::getenv("HEADLIGHT_NODE_MODULES") == nullptr) {
    GTEST_SKIP() << "HEADLIGHT_NODE_MODULES names no folder with node_modules/openai";
  }
  const int status =
      run("node '" + tests::source_folder() + "/tests/clients/openai_javascript.mjs'");
  if (status == kNotInstalled || status == kNotFound) {
    GTEST_SKIP() << "there is no node, or no package openai in "
                 << std::getenv("HEADLIGHT_NODE_MODULES");
  }
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace headlight::server::openai
