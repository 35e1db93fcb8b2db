// Runs through the library: events, folders, interruption and going on.
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>

#include "tests/ranks/thread_link.h"
#include "tests/recipes/support.h"

namespace headlight::recipes {
namespace {

using Words = std::vector<std::pair<std::string, std::string>>;

// Small enough for a moment.
Words small(const Words& more) {
  Words words = {{"n_layer", "1"},      {"n_head", "2"},       {"n_embd", "16"},
                 {"batch_size", "8"},   {"max_iters", "12"},   {"eval_interval", "4"},
                 {"log_interval", "2"}, {"warmup_iters", "2"}, {"learning_rate", "1e-2"}};
  for (const auto& [key, value] : more) {
    std::erase_if(words, [&](const auto& word) { return word.first == key; });
    words.emplace_back(key, value);
  }
  return words;
}

class ATrainRun : public testing::Test {
 protected:
  // A language model over letters.
  Words letters(Words more = {}) {
    if (!base::exists(files_, folder_ / "text.txt"))
      folder_.put("text.txt", std::string(300, 'a') + "\n" + std::string(300, 'b'));
    more.insert(more.begin(),
                {{"task", "lm"}, {"data", folder_ / "text.txt"}, {"block_size", "8"}});
    return small(more);
  }
  TrainRequest request(const std::string& name, const Words& words, bool resume = false) {
    return {.folder = folder_ / name, .resume = resume, .values = train_values(words)};
  }
  TrainResult train(const TrainRequest& request, const TrainListener& listener = {}) {
    return train_model(threads_, files_, request, listener);
  }
  std::string bytes(const std::string& path) {
    std::ifstream file(folder_ / path, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

  TemporaryFolder folder_;
  FilesWithEmbedded files_;
  base::ThreadPool threads_{1};
};

// The names of all events with their steps, "step 2", as they come.
TrainListener noting(std::vector<std::string>& events) {
  const auto note = [&events](const io::Json& event) {
    events.push_back(*event.find("event")->text() + " " + io::json_text(*event.find("step")));
  };
  return {.start = [note](const TrainStart& event) { note(event_json(event)); },
          .step =
              [note](const TrainStep& event) {
                if (event.is_logged) note(event_json(event));
              },
          .evaluation = [note](const TrainEvaluation& event) { note(event_json(event)); },
          .checkpoint = [note](const TrainCheckpoint& event) { note(event_json(event)); },
          .done = [note](const TrainDone& event) { note(event_json(event)); }};
}

TEST_F(ATrainRun, tells_what_happens_in_order_and_logs_the_same) {
  std::vector<std::string> events;
  const TrainResult result =
      train(request("copy", small({{"task", "copy"}, {"max_iters", "6"}})), noting(events));
  EXPECT_EQ(events,
            (std::vector<std::string>{"start 0", "step 2", "step 4", "eval 4", "checkpoint 4",
                                      "step 6", "eval 6", "checkpoint 6", "done 6"}));
  EXPECT_EQ(result.outcome, train::Outcome::finished);
  EXPECT_EQ(result.step, 6);
  ASSERT_TRUE(result.done);
  EXPECT_EQ(result.done->step, 6);
  ASSERT_TRUE(result.done->exact_match);
  std::vector<std::string> logged;
  std::istringstream lines(bytes("copy/log.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const io::Json event = io::parse_json(line, "log.jsonl");
    logged.push_back(*event.find("event")->text() + " " + io::json_text(*event.find("step")));
  }
  EXPECT_EQ(logged, events);
}

TEST_F(ATrainRun, leaves_a_folder_that_can_be_used_and_evaluated) {
  const TrainResult result = train(request("copy", small({{"task", "copy"}})));
  for (const char* name : {"config.json", "model.safetensors", "tokenizer.json", "run.json",
                           "log.jsonl", "curves.svg", "checkpoint/manifest.json"}) {
    EXPECT_TRUE(base::exists(files_, folder_ / ("copy/" + std::string(name)))) << name;
  }
  const LoadedModel loaded = load_named_model(files_, folder_ / "copy");
  EXPECT_EQ(need_tokenizer(files_, loaded).size(), loaded.model->vocab_size());
  const Evaluation evaluation = evaluate(threads_, files_, loaded, {.task = "copy"});
  ASSERT_TRUE(evaluation.exact_match);
  EXPECT_EQ(evaluation.exact_match->all, result.done->exact_match->all);
  EXPECT_LT(evaluation.exact_match->all, 0.5) << "so few steps teach nothing";
  EXPECT_EQ(evaluation.loss, result.done->best_valid_loss);
}

TEST_F(ATrainRun, that_is_interrupted_and_resumed_ends_with_the_same_bits) {
  train(request("whole", letters({{"dropout", "0.1"}})));
  int64_t steps = 0;
  const TrainListener stopping{.step = [&](const TrainStep&) { ++steps; },
                               .interrupted = [&] { return steps == 5; }};
  const TrainResult first = train(request("parts", letters({{"dropout", "0.1"}})), stopping);
  EXPECT_EQ(first.outcome, train::Outcome::interrupted);
  EXPECT_EQ(first.step, 5);
  EXPECT_FALSE(first.done);
  std::vector<std::string> events;
  const TrainResult second = train(request("parts", {}, true), noting(events));
  EXPECT_EQ(events.front(), "start 5");
  EXPECT_EQ(second.outcome, train::Outcome::finished);
  for (const char* name :
       {"model.safetensors", "config.json", "tokenizer.json", "run.json",
        "checkpoint/model-12.safetensors", "checkpoint/optimizer-12.safetensors"}) {
    EXPECT_EQ(bytes("parts/" + std::string(name)), bytes("whole/" + std::string(name))) << name;
    EXPECT_NE(bytes("whole/" + std::string(name)), "") << name;
  }
}

TEST_F(ATrainRun, is_saved_before_what_a_listener_throws_is_thrown) {
  const TrainListener throwing{.step = [](const TrainStep& event) {
    if (event.step == 3) throw std::runtime_error("nobody listens");
  }};
  EXPECT_THROW(train(request("run", letters()), throwing), std::runtime_error);
  std::vector<std::string> events;
  train(request("run", {}, true), noting(events));
  EXPECT_EQ(events.front(), "start 3");
  EXPECT_EQ(events.back(), "done 12");
}

TEST_F(ATrainRun, shows_what_a_language_model_writes_where_that_is_asked) {
  std::vector<std::string> samples;
  TrainListener listener{
      .evaluation = [&](const TrainEvaluation& event) { samples.push_back(event.sample); }};
  const Words words = letters();
  train(request("quiet", words), listener);
  EXPECT_EQ(samples, std::vector<std::string>(3, ""));
  samples.clear();
  listener.wants_samples = true;
  train(request("loud", words), listener);
  ASSERT_EQ(samples.size(), 3u);
  EXPECT_NE(samples.back(), "");
  EXPECT_EQ(bytes("loud/model.safetensors"), bytes("quiet/model.safetensors"))
      << "looking changes nothing";
}

TEST_F(ATrainRun, is_refused_a_folder_that_is_not_its_own) {
  train(request("run", letters()));
  expect_refused(
      ErrorKind::bad_input, [&] { train(request("run", letters())); },
      "is there already; resume goes on with its run, another name starts a new one");
  std::filesystem::create_directory(folder_ / "other");
  folder_.put("other/notes.txt", "mine");
  expect_refused(
      ErrorKind::bad_input, [&] { train(request("other", letters(), true)); },
      "holds other files and no run.json");
  expect_refused(
      ErrorKind::bad_input,
      [&] {
        train(request("run", {{"max_iters", "5"}}, true));
      },
      "is past it already, at step 12");
  expect_refused(
      ErrorKind::bad_input,
      [&] {
        train(request("run", {{"n_embd", "32"}}, true));
      },
      "(n_embd): was 16 and is now 32");
}

TEST_F(ATrainRun, keeps_others_out_of_its_folder_while_it_lives) {
  TrainRun run(threads_, files_, request("run", letters()));
  run.begin_folder();
  expect_refused(
      ErrorKind::failed, [&] { TrainRun(threads_, files_, request("run", {}, true)); },
      "another process is training there");
}

TEST_F(ATrainRun, writes_nothing_before_its_folder_is_begun) {
  const TrainRun run(threads_, files_, request("run", letters()));
  EXPECT_FALSE(base::exists(files_, folder_ / "run"));
  EXPECT_EQ(run.settings().n_embd, 16);
}

TEST_F(ATrainRun, does_not_go_on_with_other_data) {
  train(request("lm", letters()));
  folder_.put("text.txt", std::string(300, 'b') + "\n" + std::string(300, 'a'));
  expect_refused(
      ErrorKind::bad_input,
      [&] {
        train(request("lm", {{"max_iters", "20"}}, true));
      },
      "the data have changed since the run was started; give back the old ones, or start another "
      "run with init " +
          (folder_ / "lm"));
}

// The command line is not to blame for what stands in the folder of a run.
TEST_F(ATrainRun, whose_record_is_wrong_anywhere_has_bad_input) {
  for (const Words& words : {letters(), small({{"task", "copy"}})}) {
    const io::Json whole = settings_json(read_train_settings(train_values(words), files_, nullptr));
    int refused = 0;
    for (size_t at = 0; at < whole.object()->size(); ++at) {
      for (const io::Json& wrong :
           {io::Json(), io::Json(""), io::Json("x"), io::Json(-1), io::Json(0), io::Json(1e99),
            io::Json(true), io::Json(io::Json::Array{1}), io::Json(io::Json::Object{})}) {
        io::Json run = whole;
        auto& [key, value] = (*run.object())[at];
        value = wrong;
        SCOPED_TRACE(key + " " + io::json_text(wrong));
        try {
          read_train_settings({}, files_, &run);
        } catch (const base::Error& error) {
          EXPECT_EQ(error.kind(), base::ErrorKind::bad_input) << error.what();
          ++refused;
        }
      }
    }
    EXPECT_GT(refused, 100);
  }
}

TEST_F(ATrainRun, suggests_the_beginning_of_a_first_word_that_is_too_long) {
  folder_.put("text.txt", std::string(300, 'a') + " b\n" + std::string(300, 'b'));
  EXPECT_EQ(train(request("run", letters({{"max_iters", "1"}}))).done->next.value, "aaaa");
}

// Transformers takes those of its own vocabulary where a folder does not say them.
TEST_F(ATrainRun, of_a_modernbert_writes_the_ids_that_frame_a_text) {
  train(request(
      "run",
      letters(
          {{"task", "mlm"}, {"arch", "modernbert"}, {"tokenizer", "char"}, {"max_iters", "1"}})));
  const text::Tokenizer tokenizer = text::load_tokenizer(files_, folder_ / "run");
  const io::Json config = io::read_json(files_, folder_ / "run/config.json");
  EXPECT_EQ(config.find("cls_token_id")->integer(), tokenizer.find("[CLS]"));
  EXPECT_EQ(config.find("sep_token_id")->integer(), tokenizer.find("[SEP]"));
}

class ARunFromAnotherModel : public ATrainRun {
 protected:
  // A small model that has been made to chat and to give vectors.
  void SetUp() override {
    train(request("chat", letters({{"max_iters", "1"}})));
    std::filesystem::create_directory(folder_ / "chat/2_Dense");
    for (const auto& [name, text] : kFiles) folder_.put("chat/" + name, text);
  }
  Words from_it() {
    return {{"task", "lm"},       {"data", folder_ / "text.txt"}, {"init", folder_ / "chat"},
            {"max_iters", "8"},   {"eval_interval", "2"},         {"batch_size", "8"},
            {"warmup_iters", "2"}};
  }

  const std::vector<std::pair<std::string, std::string>> kFiles = {
      {"chat_template.jinja", "{{ messages[-1].content }}"},
      {"generation_config.json", "{\"eos_token_id\": [0, 1]}"},
      {"modules.json", "[{\"path\": \"\"}, {\"path\": \"2_Dense\"}]"},
      {"2_Dense/config.json", "{}"}};
};

TEST_F(ARunFromAnotherModel, has_its_chat_template_and_what_else_belongs_to_its_ids) {
  train(request("on", from_it()));
  for (const auto& [name, text] : kFiles) EXPECT_EQ(bytes("on/" + name), text) << name;
  EXPECT_EQ(bytes("on/tokenizer.json"), bytes("chat/tokenizer.json"));
}

TEST_F(ARunFromAnotherModel, goes_on_when_that_model_has_gone) {
  train(request("whole", from_it()));
  int64_t steps = 0;
  const TrainListener stopping{.step = [&](const TrainStep&) { ++steps; },
                               .interrupted = [&] { return steps == 5; }};
  train(request("parts", from_it()), stopping);
  std::filesystem::rename(folder_ / "chat", folder_ / "gone");
  EXPECT_EQ(train(request("parts", {}, true)).outcome, train::Outcome::finished);
  for (const char* name :
       {"model.safetensors", "run.json", "chat_template.jinja", "checkpoint/model-8.safetensors"}) {
    EXPECT_EQ(bytes("parts/" + std::string(name)), bytes("whole/" + std::string(name))) << name;
  }
}

// SGD keeps one number for each of the model's, AdamW two; no block of them is cut.
TEST_F(ATrainRun, on_ranks_says_what_each_of_them_saves) {
  for (const auto& [optimizer, saved] :
       {std::pair("sgd", "0.7 MiB"), std::pair("adamw", "1.5 MiB")}) {
    std::mutex mutex;
    std::vector<std::string> told;
    ranks::run_on_threads(2, [&, optimizer = optimizer](ranks::Group& group) {
      FilesWithEmbedded files;
      base::ThreadPool threads(1);
      TrainRequest shared = request(
          optimizer,
          letters(
              {{"optimizer", optimizer}, {"n_layer", "2"}, {"n_embd", "128"}, {"max_iters", "1"}}));
      shared.group = &group;
      train_model(threads, files, shared, {.start = [&](const TrainStart& event) {
                    const std::lock_guard lock(mutex);
                    told.push_back(event.memory_saved);
                  }});
    });
    EXPECT_EQ(told, (std::vector<std::string>{saved, saved}));
  }
}

}  // namespace
}  // namespace headlight::recipes
