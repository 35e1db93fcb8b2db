// Folders of pruned models go through every command: heads keep their names, layers may have none.
#include <gtest/gtest.h>

#include <filesystem>

#include "headlight/heads/heads.h"
#include "headlight/recipes/recipes.h"
#include "tests/base/temporary_folder.h"
#include "tests/cli/arrays.h"
#include "tests/cli/browser.h"
#include "tests/cli/model_folders.h"
#include "tests/cli/program.h"

namespace headlight::test {
namespace {

// Of the GPT `stories` (3 layers of 4 heads) and of the encoder-decoder `numbers` (3 + 3 layers of
// 8); in each a layer loses all its heads.
constexpr const char* kOfStories =
    "decoder.0.self.1,decoder.0.self.3,decoder.1.self.0,decoder.1.self.1,decoder.1.self.2,"
    "decoder.1.self.3";
constexpr const char* kOfNumbers =
    "encoder.1.self.0,encoder.1.self.1,encoder.1.self.2,encoder.1.self.3,encoder.1.self.4,"
    "encoder.1.self.5,encoder.1.self.6,encoder.1.self.7,decoder.0.self.0,decoder.2.cross.5";
constexpr const char* kOfEncoder =
    "encoder.0.self.0,encoder.1.self.0,encoder.1.self.1,"
    "encoder.1.self.2,encoder.1.self.3";

void prune(const std::string& model, const std::string& heads, const std::string& folder) {
  recipes::FilesWithEmbedded files;
  const recipes::LoadedModel loaded = recipes::load_named_model(files, model);
  recipes::write_model_copy(
      files, *heads::pruned_model(*loaded.model, heads::parse_head_names(heads, "heads")),
      loaded.folder, folder);
}

// The same shape, with output weights of 0 for these heads: it gives the same numbers.
void silence(const std::string& model, const std::string& heads, const std::string& folder) {
  recipes::FilesWithEmbedded files;
  const recipes::LoadedModel loaded = recipes::load_named_model(files, model);
  recipes::write_model_copy(
      files, *heads::silenced_model(*loaded.model, heads::parse_head_names(heads, "heads")),
      loaded.folder, folder);
}

class PrunedFolders {
 public:
  PrunedFolders() {
    prune("stories", kOfStories, folder_ / "stories");
    prune("numbers", kOfNumbers, folder_ / "numbers");
    prune(model_folders().encoder(), kOfEncoder, folder_ / "encoder");
    const auto ids = [](const std::vector<int64_t>& list) {
      return tensor::Tensor::of({1, static_cast<int64_t>(list.size())}, list);
    };
    io::write_array(base::real_files(), folder_ / "ids.npy", ids({5, 6, 7, 8, 9}));
    io::write_array(base::real_files(), folder_ / "targets.npy", ids({6, 7, 8, 9, 10}));
  }
  std::string operator/(const std::string& name) const { return folder_ / name; }

 private:
  TemporaryFolder folder_;
};

class APrunedFolder : public testing::Test {
 protected:
  static const PrunedFolders& folders() {
    static const PrunedFolders all;
    return all;
  }
  // The output of a command that must succeed.
  static std::string output(const std::vector<std::string>& words) {
    const ProgramRun run = run_program(words);
    EXPECT_EQ(run.code, 0) << run.errors;
    return run.output;
  }
  static bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  std::string gpt_ = folders() / "stories";
  std::string pairs_ = folders() / "numbers";
  std::string bert_ = folders() / "encoder";
  TemporaryFolder folder_;
};

TEST_F(APrunedFolder, is_told_of_by_info_in_every_language) {
  for (const char* language : {"en", "tr", "az", "ko"}) {
    const std::string text = output({"info", gpt_, "--lang", language});
    EXPECT_TRUE(has(text, "decoder.0.self: ") && has(text, "(0, 2)")) << text;
    EXPECT_TRUE(has(text, "decoder.1.self: ")) << text;
    EXPECT_FALSE(has(text, "decoder.2.self: ")) << text;
  }
  EXPECT_TRUE(has(output({"info", gpt_}), "decoder.1.self: heads left: none of 4"));
  const std::string json = output({"info", gpt_, "--json"});
  EXPECT_TRUE(has(json, R"({"name":"decoder.0.self","heads":2,"original_heads":4,"left":[0,2]})"));
  EXPECT_TRUE(has(json, R"({"name":"decoder.1.self","heads":0,"original_heads":4,"left":[]})"));
  EXPECT_TRUE(has(json, R"({"name":"decoder.2.self","heads":4})"));
}

TEST_F(APrunedFolder, generates_what_the_whole_model_writes_without_these_heads) {
  const std::vector<std::string> words = {"--prompt", "Anna and Tom", "--max-new-tokens", "20"};
  const auto generate = [&](const std::string& model, std::vector<std::string> more) {
    more.insert(more.begin(), {"generate", model});
    more.insert(more.end(), words.begin(), words.end());
    return output(more);
  };
  const std::string written = generate(gpt_, {});
  EXPECT_EQ(written, generate("stories", {"--heads-off", kOfStories}));
  EXPECT_EQ(written, generate(gpt_, {"--no-cache"}));
  EXPECT_EQ(generate(gpt_, {"--heads-off", "decoder.0.self.2"}),
            generate("stories", {"--heads-off", std::string(kOfStories) + ",decoder.0.self.2"}));
  EXPECT_FALSE(generate(gpt_, {"--beam", "3"}).empty());
  const ProgramRun gone =
      run_program({"generate", gpt_, "--prompt", "Anna", "--heads-off", "decoder.0.self.1"});
  expect_one_line(gone, 3, "head 1 was pruned; left are 0, 2");
}

TEST_F(APrunedFolder, translates_and_is_evaluated_by_its_task) {
  silence("numbers", kOfNumbers, folder_ / "silent");
  for (const char* beam : {"1", "3"}) {
    const auto translated = [&](const std::string& model) {
      return output({"translate", model, "--text", "two hundred seventy-one", "--beam", beam});
    };
    EXPECT_FALSE(translated(pairs_).empty());
    EXPECT_EQ(translated(pairs_), translated(folder_ / "silent"));
  }
  expect_one_line(run_program({"translate", pairs_, "--text", "x"}), 3, "x");
  const std::string data = folder_ / "text.txt";
  folder_.put("text.txt", "Anna and Tom meet in the garden. Tom shows Anna a red fox.\n");
  const io::Json loss = io::parse_json(output({"evaluate", gpt_, "--data", data, "--json"}), "out");
  EXPECT_GT(loss.find("loss")->number().value(), 0);
}

TEST_F(APrunedFolder, is_run_forward_with_traces_and_gradients) {
  const std::string trace = folder_ / "t.safetensors";
  const std::string grads = folder_ / "g.safetensors";
  const std::vector<std::string> ids = {"--ids", folders() / "ids.npy", "--targets",
                                        folders() / "targets.npy"};
  const auto forward = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"forward", gpt_});
    more.insert(more.end(), ids.begin(), ids.end());
    return more;
  };
  output(forward({"--trace", trace, "--grads", grads, "--json"}));
  const Tensors seen = read_tensors(trace);
  EXPECT_EQ(seen.at("decoder.0.self.weights").shape(), (tensor::Shape{1, 2, 5, 5}));
  EXPECT_FALSE(seen.contains("decoder.1.self.weights"));
  EXPECT_TRUE(seen.contains("decoder.1.self.output"));
  EXPECT_EQ(io::open_safetensors(base::real_files(), trace).metadata().at("headlight_heads"),
            R"({"decoder.0.self":[0,2],"decoder.1.self":[]})");
  const Tensors gradients = read_tensors(grads);
  EXPECT_EQ(gradients.at("transformer.h.0.attn.c_attn.weight").shape(), (tensor::Shape{64, 96}));
  EXPECT_EQ(gradients.at("transformer.h.1.attn.c_proj.weight").shape(), (tensor::Shape{0, 64}));
  EXPECT_GT(largest(gradients.at("transformer.h.1.attn.c_proj.bias")), 0);

  output(forward({"--trace", trace, "--only", "decoder.0.self.head.2.weights"}));
  const Tensors one = read_tensors(trace);
  ASSERT_EQ(one.size(), 1U);
  const tensor::Tensor second = seen.at("decoder.0.self.weights").slice(1, 1, 1).contiguous();
  EXPECT_EQ(distance(one.at("decoder.0.self.head.2.weights"), second.reshaped({1, 5, 5})), 0);
  expect_one_line(
      run_program(forward({"--trace", trace, "--only", "decoder.0.self.head.3.weights"})), 3,
      "--only (\"decoder.0.self\"): head 3 was pruned; left are 0, 2");
  expect_one_line(
      run_program(forward({"--trace", trace, "--only", "decoder.1.self.head.3.weights"})), 3,
      "head 3 was pruned; left is none");

  // The logits are those of the whole model with these heads off.
  output({"forward", gpt_, "--ids", folders() / "ids.npy", "--logits", folder_ / "small.npy"});
  output({"forward", "stories", "--ids", folders() / "ids.npy", "--logits", folder_ / "gated.npy",
          "--heads-off", kOfStories});
  EXPECT_LE(distance(read_floats(folder_ / "small.npy"), read_floats(folder_ / "gated.npy")), 1e-4);
}

TEST_F(APrunedFolder, is_explained_in_every_form) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> models = {
      {gpt_, {"--text", "Anna and Tom"}},
      {pairs_, {"--text", "forty-two", "--target", "42"}},
      {bert_, {"--text", "a"}}};
  for (const auto& [model, words] : models) {
    SCOPED_TRACE(model);
    const auto explain = [&](std::vector<std::string> more) {
      more.insert(more.begin(), {"explain", model});
      more.insert(more.end(), words.begin(), words.end());
      return more;
    };
    for (const char* language : {"en", "ko"}) {
      EXPECT_FALSE(output(explain({"--lang", language})).empty());
    }
    const io::Json document = io::parse_json(output(explain({"--format", "json"})), "out");
    const int64_t left = model == gpt_ ? 12 - 6 : model == pairs_ ? 72 - 10 : 8 - 5;
    EXPECT_EQ(std::ssize(*document.find("heads")->array()), left);
    output(explain({"--format", "html", "--out", folder_ / "page.html"}));
    output(explain({"--format", "safetensors", "--out", folder_ / "t.safetensors"}));
    if (model != bert_) output(explain({"--backward"}));
  }
}

TEST_F(APrunedFolder, is_explained_under_the_old_numbers) {
  const auto explain = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"explain", gpt_, "--text", "Anna and Tom"});
    return more;
  };
  const std::string cell = output(explain({"--cell", "decoder.0.self.head.2.scores[1,0]"}));
  EXPECT_TRUE(has(cell, "decoder.0.self.head.2.scores[1,0] = ")) << cell;
  EXPECT_TRUE(has(cell, "decoder.0.self.head.2.query")) << cell;
  EXPECT_FALSE(has(cell, "decoder.0.self.head.1.")) << cell;
  const std::string bias = output(explain({"--cell", "decoder.1.self.output[1,3]"}));
  EXPECT_TRUE(has(bias, "transformer.h.1.attn.c_proj.bias[3]")) << bias;
  expect_one_line(run_program(explain({"--cell", "decoder.0.self.head.1.scores[1,0]"})), 3,
                  "head 1 was pruned; left are 0, 2");
  expect_one_line(run_program(explain({"--cell", "decoder.1.self.head.1.scores[1,0]"})), 3,
                  "head 1 was pruned; left is none");
  expect_one_line(run_program(explain({"--cell", "decoder.0.self.head.9.scores[1,0]"})), 3,
                  "there is no head 9 among 4");
  EXPECT_TRUE(has(output(explain({"--only", "decoder.0.self.head.2.weights"})),
                  "decoder.0.self.head.2.weights"));
  const io::Json document = io::parse_json(output(explain({"--format", "json"})), "out");
  std::vector<std::string> names;
  for (const io::Json& head : *document.find("heads")->array()) {
    names.push_back(*head.find("name")->text());
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"decoder.0.self.0", "decoder.0.self.2", "decoder.2.self.0",
                                      "decoder.2.self.1", "decoder.2.self.2", "decoder.2.self.3"}));
}

// Each cell's terms give its number, its name leads back to it, and heads have their old names.
TEST_F(APrunedFolder, is_a_page_that_answers_every_cell) {
  if (!has_browser()) GTEST_SKIP() << "chromium is not installed";
  constexpr const char* kScript = R"(
    setTimeout(() => {
      const wrong = [];
      let cells = 0;
      for (const tensor of run().all.values()) {
        tensor.values.forEach((value, offset) => {
          const index = tensor.shape.map(() => 0);
          for (let axis = index.length - 1, rest = offset; axis >= 0; --axis) {
            index[axis] = rest % tensor.shape[axis];
            rest = Math.floor(rest / tensor.shape[axis]);
          }
          const cell = { name: tensor.name, index };
          const explanation = new Explanation(cell);
          const size = Math.max(1, Math.abs(value) || 0, ...explanation.terms.map((term) => Math.abs(term.value) || 0));
          const same = Object.is(explanation.combined, value) || Math.abs(explanation.combined - value) < 1e-6 * size;
          if (!same) wrong.push(`${cellText(cell)} is ${value}, its terms give ${explanation.combined}`);
          if (JSON.stringify(cellOf(cellText(cell))) !== JSON.stringify(cell)) wrong.push(`${cellText(cell)} is not read back`);
          ++cells;
        });
      }
      const heads = [...document.querySelectorAll("#heads [data-head]")].map((one) => `${one.closest("[data-heads]").dataset.heads}.${one.dataset.head}`);
      const chosen = [...document.querySelectorAll("#heads .head.chosen")].length;
      report(`wrong: ${wrong.length} ${wrong[0] ?? ""} cells: ${cells > 1000} heads: ${heads.join(" ")} chosen: ${chosen} ${cellText({ name: "encoder.0.self.scores", index: [0, 0, 1, 2] })}`);
    }, 1000);
  )";
  prune("thrones", "encoder.0.self.0,decoder.0.cross.0,decoder.0.cross.1", folder_ / "thrones");
  const std::string page =
      output({"explain", folder_ / "thrones", "--text", "When you play the game of thrones",
              "--target", "you win or you die", "--format", "html"});
  EXPECT_EQ(
      told_in_browser(folder_, page, kScript),
      "wrong: 0  cells: true heads: encoder.0.self.1 decoder.0.self.0 decoder.0.self.1 chosen: "
      "2 encoder.0.self.head.1.scores[1,2]");
}

TEST_F(APrunedFolder, embeds_sentences) {
  silence(model_folders().encoder(), kOfEncoder, folder_ / "silent");
  const auto vector_of = [](const std::string& model) {
    const io::Json json = io::parse_json(output({"embed", model, "--text", "a", "--json"}), "out");
    std::vector<double> numbers;
    for (const io::Json& number : *json.find("vector")->array())
      numbers.push_back(*number.number());
    return numbers;
  };
  const std::vector<double> small = vector_of(bert_), silent = vector_of(folder_ / "silent");
  ASSERT_EQ(small.size(), silent.size());
  for (size_t i = 0; i < small.size(); ++i) EXPECT_NEAR(small[i], silent[i], 1e-5);
  EXPECT_NE(small, vector_of(model_folders().encoder()));
}

TEST_F(APrunedFolder, is_trained_on_and_resumed) {
  const std::string whole = folder_ / "whole", small = folder_ / "small", out = folder_ / "run";
  const std::vector<std::string> few = {"--max_iters",  "2", "--eval_interval", "2",
                                        "--batch_size", "8", "--quiet"};
  const auto train = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "train");
    words.insert(words.end(), few.begin(), few.end());
    return output(words);
  };
  train({"--task", "copy", "--out", whole, "--n_layer", "1", "--n_head", "2", "--n_embd", "16"});
  prune(whole, "encoder.0.self.0,encoder.0.self.1,decoder.0.cross.1", small);
  EXPECT_TRUE(has(output({"evaluate", small, "--task", "copy", "--json"}), "exact_match"));
  train({"--task", "copy", "--init", small, "--out", out});
  output({"train", "--out", out, "--resume", "--max_iters", "4", "--quiet"});
  EXPECT_TRUE(has(output({"info", out, "--json"}), R"("left":[])"));
  expect_one_line(run_program({"train", "--out", small, "--resume"}), 3,
                  "holds a model and no run to go on with");
}

}  // namespace
}  // namespace headlight::test
