// Experiments on heads give the same bytes on any number of ranks, and the ranks share the work.
#include "headlight/recipes/spread_work.h"

#include <algorithm>
#include <atomic>

#include "tests/ranks/thread_link.h"
#include "tests/recipes/models_with_files.h"

namespace headlight::recipes {
namespace {

using heads::Watch;
using Numbers = std::vector<double>;

// What a rank has: nothing of it is shared with the others.
struct RankOwn {
  explicit RankOwn(ranks::Group* ranks) : group(ranks) {}

  Watch watch() const { return group == nullptr ? Watch{} : spread_over(*group, {}); }
  bool is_first() const { return group == nullptr || group->is_first(); }
  LoadedModel model(const std::string& name) { return load_named_model(files, name); }

  ranks::Group* group;
  FilesWithEmbedded files = {};
  base::ThreadPool threads{1};
};

class SpreadWork : public ModelsWithFiles {
 protected:
  // The result of an experiment as text: on every one of 1, 2 and 4 ranks that of one process
  // alone.
  static void expect_same_on_ranks(const std::function<std::string(RankOwn&)>& experiment) {
    RankOwn lonely(nullptr);
    const std::string alone = experiment(lonely);
    ASSERT_GT(alone.size(), 20U);
    for (const int count : {1, 2, 4}) {
      std::vector<std::string> texts(static_cast<size_t>(count));
      ranks::run_on_threads(count, [&](ranks::Group& group) {
        RankOwn own(&group);
        texts[static_cast<size_t>(group.rank())] = experiment(own);
      });
      for (int rank = 0; rank < count; ++rank)
        EXPECT_EQ(texts[static_cast<size_t>(rank)], alone) << rank << " of " << count;
    }
  }

  // Enough for some to be measured on: every 20th.
  static std::string many_lines() {
    std::string lines;
    for (int i = 0; i < 14; ++i) {
      lines +=
          "When you play the game of thrones\tyou win or you die\n"
          "When the sun rises over the sea\tthe boats come home\n"
          "When winter comes to the north\tthe wolves sing at night\n";
    }
    return lines;
  }

  std::string copy_of_thrones(const std::string& name) {
    const LoadedModel model = thrones();
    const std::string path = saved(name, *model.model);
    need_tokenizer(files_, model).save(files_, path);
    return path;
  }

  std::string sentences() {
    return folder_.put("pairs.tsv",
                       "The little girl was happy.\tgirl\tlittle\n"
                       "The little dog was sad and went home.\tlittle\tdog\n"
                       "Tom has lost a red coin.\tTom\tcoin\n"
                       "A cat sat on the mat in the sun all day long.\tcat\tmat\n");
  }
};

TEST_F(SpreadWork, compares_a_packed_model_and_leaves_it_packed) {
  FilesWithEmbedded files;
  const LoadedModel plain = load_named_model(files, "thrones");
  const LoadedModel packed = load_named_model(files, "thrones", true);
  const uint64_t before = models::held_bytes(*packed.model);
  EXPECT_EQ(model_sum(*packed.model), model_sum(*plain.model));
  EXPECT_EQ(models::held_bytes(*packed.model), before);
}

TEST_F(SpreadWork, is_done_once_and_taken_by_all_in_order) {
  for (const int64_t count : {int64_t{0}, int64_t{1}, int64_t{3}, int64_t{10}, int64_t{1000}}) {
    std::vector<std::atomic<int>> times(static_cast<size_t>(count));
    std::vector<std::atomic<int>> by_rank(4);
    ranks::run_on_threads(4, [&](ranks::Group& group) {
      int64_t taken = 0;
      const bool done = heads::run_pieces(
          count, spread_over(group, {}),
          {.work =
               [&](int64_t index, const Watch& watch) {
                 EXPECT_FALSE(watch.spread) << "the others are elsewhere";
                 ++times[static_cast<size_t>(index)];
                 ++by_rank[static_cast<size_t>(group.rank())];
                 return Numbers(static_cast<size_t>(index % 5), 0.1 * static_cast<double>(index));
               },
           .take =
               [&](int64_t index, const Numbers& numbers) {
                 EXPECT_EQ(index, taken++);
                 EXPECT_EQ(numbers, Numbers(static_cast<size_t>(index % 5),
                                            0.1 * static_cast<double>(index)));
               }});
      EXPECT_TRUE(done);
      EXPECT_EQ(taken, count);
    });
    for (const auto& one : times) EXPECT_EQ(one, 1);
    if (count == 1) {
      EXPECT_EQ(by_rank[0], 1) << "a single piece is the first's";
    }
    if (count >= 4) {
      for (const auto& pieces : by_rank) EXPECT_GE(pieces, count / 8) << "all of them work";
    }
  }
}

TEST_F(SpreadWork, stops_everywhere_when_one_rank_is_told_to_and_keeps_what_is_done) {
  std::vector<std::vector<int64_t>> taken(4);
  ranks::run_on_threads(4, [&](ranks::Group& group) {
    int asked = 0;
    const Watch own{.interrupted = [&] { return group.rank() == 2 && ++asked > 1; }};
    const Watch watch = spread_over(group, own);
    const bool done = heads::run_pieces(
        40, watch,
        {.work = [](int64_t index, const Watch&) { return Numbers{static_cast<double>(index)}; },
         .take =
             [&](int64_t index, const Numbers&) {
               taken[static_cast<size_t>(group.rank())].push_back(index);
             }});
    EXPECT_FALSE(done);
    EXPECT_TRUE(watch.stops()) << "all are told";
  });
  EXPECT_GE(taken[0].size(), 4U);
  EXPECT_LT(taken[0].size(), 40U);
  for (const auto& pieces : taken) EXPECT_EQ(pieces, taken[0]);
}

TEST_F(SpreadWork, that_fails_on_one_rank_fails_on_all) {
  EXPECT_THROW(ranks::run_on_threads(4,
                                     [](ranks::Group& group) {
                                       heads::run_pieces(
                                           8, spread_over(group, {}),
                                           {.work = [](int64_t index, const Watch&) -> Numbers {
                                              if (index == 3) base::refuse("piece", "3", "is bad");
                                              return {};
                                            },
                                            .take = [](int64_t, const Numbers&) {}});
                                     }),
               base::Error);
}

TEST_F(SpreadWork, scores_heads_to_the_same_bytes) {
  expect_same_on_ranks([](RankOwn& own) {
    const heads::HeadScores scores = score_model_heads(own.threads, own.files, own.model("numbers"),
                                                       {.examples = 250, .seed = 2}, own.watch());
    return io::json_text(heads::head_scores_json(scores));
  });
}

TEST_F(SpreadWork, ablates_heads_to_the_same_bytes) {
  const std::string path = folder_.put("pairs.txt",
                                       "a\tb\nwhen you play\tyou win\n"
                                       "the sun\tthe boats come home\n");
  for (const char* by : {"zero", "mean", "resample"}) {
    expect_same_on_ranks([&](RankOwn& own) {
      const heads::AblationResult result =
          ablate_model_heads(own.threads, own.files, own.model("thrones"), {.data = path},
                             {.by = heads::ablation_kind(by),
                              .all_but_one = true,
                              .greedy = true,
                              .watch = own.watch()});
      return io::json_text(heads::ablation_json(result));
    });
  }
}

TEST_F(SpreadWork, finds_heads_to_the_same_bytes) {
  const std::string path = sentences();
  expect_same_on_ranks([&](RankOwn& own) {
    const LoadedModel loaded = own.model("stories");
    const RelationExamples made = make_relation(own.threads, own.files, loaded, {.pairs = path});
    heads::Examples alone;  // a batch for each, so that there are pieces
    for (const models::Batch& batch : made.examples) {
      for (int64_t row = 0; row < batch.ids.size(0); ++row)
        alone.push_back(heads::example_at(batch, row));
    }
    EXPECT_EQ(alone.size(), 4U);
    return io::json_text(heads::found_heads_json(heads::find_heads(
        own.threads, *loaded.model, alone, made.relation, {.ablated = 3, .watch = own.watch()})));
  });
}

TEST_F(SpreadWork, patches_heads_to_the_same_bytes) {
  expect_same_on_ranks([](RankOwn& own) {
    const LoadedModel loaded = own.model("stories");
    const text::Tokenizer tokenizer = need_tokenizer(own.files, loaded);
    const auto answer = patch(own.threads, *loaded.model, &tokenizer,
                              {.clean = "Anna has three apples. She gives them to her friend Tom.",
                               .corrupt = "Anna has two apples. She gives them to her friend Tom.",
                               .word = " three",
                               .against = " two",
                               .options = {.watch = own.watch()}});
    return io::json_text(patch_json(*answer));
  });
}

TEST_F(SpreadWork, prunes_by_every_method_to_the_same_bytes) {
  const std::string path = folder_.put("pairs.txt", many_lines());
  for (const char* by : {"gradient", "ablation", "entropy", "gates", "random"}) {
    std::atomic<int> number = 0;
    std::string first_model;
    expect_same_on_ranks([&](RankOwn& own) {
      const std::string out =
          own.is_first() ? folder_ / (std::string(by) + std::to_string(number++)) : "";
      const heads::PruneResult result =
          prune_model_heads(own.threads, own.files, own.model("thrones"),
                            {.data = {.data = path, .seed = 1},
                             .keep = 0.5,
                             .by = heads::prune_method(by),
                             .finetune = 3,
                             .out = out},
                            own.watch());
      if (own.is_first()) {
        const std::string model = base::read_all(
            *base::open_input(own.files, out + "/model.safetensors"), uint64_t{1} << 30);
        if (first_model.empty()) first_model = model;
        EXPECT_EQ(model, first_model) << by;
      }
      return io::json_text(heads::prune_json(result));
    });
  }
}

TEST_F(SpreadWork, draws_curves_to_the_same_bytes) {
  const std::string path = folder_.put("pairs.txt", many_lines());
  expect_same_on_ranks([&](RankOwn& own) {
    CurveRequest request{.data = {.data = path, .seed = 1}, .finetune = 2};
    request.curves.methods = {heads::PruneMethod::gradient, heads::PruneMethod::random};
    request.curves.shares = {0, 0.5, 1};
    request.curves.random_orders = 3;
    return io::json_text(heads::curves_json(
        curve_model_heads(own.threads, own.files, own.model("thrones"), request, own.watch())));
  });
}

TEST_F(SpreadWork, trains_gates_on_the_first_rank) {
  const std::string path = folder_.put("pairs.txt", many_lines());
  const auto gates = [&](RankOwn& own) {
    return gate_model_heads(
        own.threads, own.files, own.model("thrones"),
        {.data = {.data = path}, .penalty = 0.02, .steps = 5, .trains_weights = true}, own.watch());
  };
  RankOwn lonely(nullptr);
  const ModelGatesResult alone = gates(lonely);
  ranks::run_on_threads(4, [&](ranks::Group& group) {
    RankOwn own(&group);
    const ModelGatesResult result = gates(own);
    EXPECT_EQ(result.binary.loss, alone.binary.loss);
    EXPECT_EQ(result.gated.loss, alone.gated.loss);
    EXPECT_EQ(result.before.loss, alone.before.loss);
    if (group.is_first()) {
      EXPECT_EQ(io::json_text(model_gates_json(result)), io::json_text(model_gates_json(alone)));
    } else {
      EXPECT_TRUE(result.gates.heads.empty());
    }
  });
}

TEST_F(SpreadWork, is_kept_by_the_first_rank_and_known_by_all) {
  const std::string out = folder_ / "out";
  const auto open = [&](ranks::Group& group, bool resume) {
    return ExperimentState(base::real_files(), {.folder = out, .resume = resume, .group = &group});
  };
  const double odd = 0.1 + 0.2;
  ranks::run_on_threads(4, [&](ranks::Group& group) {
    ExperimentState state = open(group, false);
    EXPECT_EQ(state.folder().empty(), !group.is_first());
    state.add("part", odd);
    state.save();
    group.any(false);  // all have saved
  });
  EXPECT_EQ(base::list_directory(base::real_files(), out),
            std::vector<std::string>{"experiment.json"});
  ranks::run_on_threads(4, [&](ranks::Group& group) {
    ExperimentState state = open(group, true);
    ASSERT_NE(state.find("part"), nullptr);
    EXPECT_EQ(state.find("part")->number(), odd);
    EXPECT_EQ(state.found(), 1U);
  });
}

TEST_F(SpreadWork, is_asked_for_alike_on_all_ranks) {
  const LoadedModel model = thrones();
  const LoadedModel other = stories();
  const auto refused = [&](const std::function<SharedRequest(bool is_first)>& request,
                           const LoadedModel& second) {
    return refusal_of([&] {
      ranks::run_on_threads(2, [&](ranks::Group& group) {
        FilesWithEmbedded files;
        check_same_request(group, files, group.is_first() ? model : second,
                           request(group.is_first()));
      });
    });
  };
  const auto expect = [](const Refusal& refusal, ErrorKind kind, const std::string& text) {
    EXPECT_EQ(refusal.kind, kind) << refusal.text;
    expect_has(refusal.text, text);
  };
  using Object = io::Json::Object;
  expect(refused(
             [](bool first) {
               return SharedRequest{.asked = {{"--seed", first ? 0 : 1}}};
             },
             model),
         ErrorKind::usage, "--seed is 1");
  expect(refused(
             [](bool first) {
               return SharedRequest{.asked = {{first ? "--keep" : "--by", 1}}};
             },
             model),
         ErrorKind::usage, "what is asked for is --by");
  expect(refused(
             [](bool first) {
               return SharedRequest{.read = {{"data", first ? "a" : "b"}}};
             },
             model),
         ErrorKind::bad_input, "the checksum of data is \"b\"");
  expect(refused(
             [](bool first) {
               return SharedRequest{.read = first ? Object{} : Object{{"ids", 1}}};
             },
             model),
         ErrorKind::usage, "what is asked for is ids");
  expect(refused([](bool) { return SharedRequest{}; }, other), ErrorKind::bad_input,
         "the checksum of the model");
}

TEST_F(SpreadWork, needs_the_same_tokenizer_on_all_ranks) {
  const std::string one = copy_of_thrones("one"), other = copy_of_thrones("other");
  const Refusal refusal = refusal_of([&] {
    folder_.put("other/tokenizer.json", folder_.get("other/tokenizer.json") + "\n");
    ranks::run_on_threads(2, [&](ranks::Group& group) {
      RankOwn own(&group);
      check_same_request(group, own.files, own.model(group.is_first() ? one : other), {});
    });
  });
  EXPECT_EQ(refusal.kind, ErrorKind::bad_input);
  expect_has(refusal.text, "the checksum of its tokenizer");
}

}  // namespace
}  // namespace headlight::recipes
