// From a request to gates, pruned folders and curves.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "tests/recipes/models_with_files.h"

namespace headlight::recipes {
namespace {

class HeadPruning : public ModelsWithFiles {
 protected:
  std::string story_text() {
    std::string text;
    for (int i = 0; i < 150; ++i) {
      text += "Once upon a time there was a little girl. She had " + std::to_string(i) +
              " friends. They went to the park and played. ";
    }
    return text;
  }
};

int64_t heads_in(const models::Model& model) {
  return static_cast<int64_t>(heads::heads_of(model).size());
}

std::vector<std::string> names_of(const std::vector<heads::RemovedHead>& removed) {
  std::vector<std::string> names;
  for (const heads::RemovedHead& one : removed) names.push_back(one.head.text());
  return names;
}

TEST_F(HeadPruning, writes_a_folder_that_is_what_was_measured) {
  const LoadedModel loaded = numbers();
  const PruneRequest request{
      .data = {.examples = 24, .seed = 3}, .keep = 0.5, .out = folder_ / "half"};
  const heads::PruneResult result = prune_model_heads(threads_, files_, loaded, request);
  EXPECT_EQ(result.heads, 72);
  EXPECT_EQ(result.kept(), 36);
  EXPECT_EQ(result.metric, "exact_match");
  EXPECT_EQ(heads_in(*loaded.model), 72) << "the model itself is whole";
  // Heads are chosen by other cases than those that are measured on.
  const PruningData whole = make_pruning_data(files_, loaded, request.data);
  const heads::RemovalOrder order =
      heads::removal_order(threads_, *loaded.model, whole.chosen_by, {.count = 36});
  EXPECT_EQ(names_of(result.removed), names_of(order.heads));
  const PrunedFolder folder = pruned_folder(files_, loaded, folder_ / "half");
  EXPECT_GE(folder.bytes_after, std::filesystem::file_size(folder_ / "half/model.safetensors"));
  EXPECT_GT(folder.bytes_before, folder.bytes_after);
  const LoadedModel half = load_named_model(files_, folder_ / "half");
  EXPECT_EQ(heads_in(*half.model), 36);
  const PruningData data = make_pruning_data(files_, half, request.data);
  EXPECT_EQ(data.task, "numbers") << "the folder knows its task";
  const auto measured =
      heads::measure_model(threads_, *half.model, data.measured_on, {.metric = data.metric});
  EXPECT_EQ(measured->loss, result.pruned->loss);
  EXPECT_EQ(*measured->metric, *result.pruned->metric);
  // Again, from the folder: a quarter of what was there at first.
  const heads::PruneResult again = prune_model_heads(
      threads_, files_, half, {.data = request.data, .keep = 0.5, .out = folder_ / "quarter"});
  EXPECT_EQ(again.kept(), 18);
  EXPECT_EQ(heads_in(*load_named_model(files_, folder_ / "quarter").model), 18);
}

TEST_F(HeadPruning, trains_the_pruned_model_on_its_own_task) {
  const LoadedModel loaded = numbers();
  PruneRequest request{.data = {.examples = 32, .seed = 1},
                       .keep = 0.4,
                       .by = heads::PruneMethod::random,
                       .finetune = 25};
  std::vector<double> losses;
  for (const bool same_shape : {false, true}) {
    request.same_shape = same_shape;
    request.out = folder_ / (same_shape ? "same" : "small");
    const heads::PruneResult result = prune_model_heads(threads_, files_, loaded, request);
    ASSERT_TRUE(result.finetuned);
    EXPECT_LT(result.finetuned->loss, result.pruned->loss - 0.2);
    losses.push_back(result.finetuned->loss);
    const LoadedModel written = load_named_model(files_, request.out);
    EXPECT_EQ(heads_in(*written.model), same_shape ? 72 : 29);
    const PruningData data = make_pruning_data(files_, written, request.data);
    EXPECT_EQ(heads::measure_model(threads_, *written.model, data.measured_on)->loss,
              result.finetuned->loss);
    const std::string config =
        base::read_all(*base::open_input(files_, request.out + "/config.json"), 1 << 20);
    EXPECT_EQ(config.find("headlight_heads") == std::string::npos, same_shape);
  }
  EXPECT_NEAR(losses[0], losses[1], 0.02);
}

TEST_F(HeadPruning, by_name_or_by_chance_needs_no_data) {
  const LoadedModel gpt = stories();
  const heads::PruneResult named = prune_model_heads(
      threads_, files_, gpt, {.heads_off = "decoder.0.self.1", .out = folder_ / "named"});
  EXPECT_EQ(named.removed.size(), 1u);
  EXPECT_FALSE(named.before);
  EXPECT_EQ(heads_in(*load_named_model(files_, folder_ / "named").model), heads_in(*gpt.model) - 1);
  const heads::PruneResult drawn =
      prune_model_heads(threads_, files_, gpt, {.keep = 0.5, .by = heads::PruneMethod::random});
  EXPECT_EQ(drawn.kept(), heads::rounded_share(0.5, heads_in(*gpt.model)));
  EXPECT_FALSE(drawn.before);
  const heads::PruneResult other = prune_model_heads(
      threads_, files_, gpt, {.data = {.seed = 1}, .keep = 0.5, .by = heads::PruneMethod::random});
  EXPECT_NE(names_of(other.removed), names_of(drawn.removed)) << "of another seed";
}

TEST_F(HeadPruning, refuses_what_cannot_be_before_it_begins) {
  const LoadedModel loaded = numbers();
  const auto refused = [&](ErrorKind kind, const PruneRequest& request, const std::string& text) {
    expect_refused(
        kind, [&] { prune_model_heads(threads_, files_, loaded, request); }, text);
  };
  refused(ErrorKind::usage, {.keep = 0}, "above 0 and at most 1");
  refused(ErrorKind::usage, {.keep = 1.5}, "above 0 and at most 1");
  refused(ErrorKind::bad_input, {.keep = 0.001}, "of 72 heads is none");
  refused(ErrorKind::usage, {.keep = 0.5, .finetune = -1}, "finetune");
  refused(ErrorKind::bad_input, {.heads_off = "decoder.0.self.8"}, "head 8");
  refused(ErrorKind::bad_input, {.heads_off = "decoder.7.self.1"}, "no such attention");
  refused(ErrorKind::bad_input, {.heads_off = "nonsense"}, "is not a head's name");
  std::filesystem::create_directory(folder_ / "there");
  refused(ErrorKind::bad_input, {.keep = 0.5, .out = folder_ / "there"}, "is there already");
  expect_refused(
      ErrorKind::usage, [&] { prune_model_heads(threads_, files_, stories(), {.keep = 0.5}); },
      "data");
  expect_refused(
      ErrorKind::usage, [&] { gate_model_heads(threads_, files_, loaded, {.penalty = 0}); },
      "penalty");
  expect_refused(
      ErrorKind::bad_input,
      [&] {
        gate_model_heads(threads_, files_, loaded,
                         {.data = {.examples = 4}, .penalty = 1000, .steps = 60});
      },
      "all 72 heads would go at penalty 1000");
  expect_refused(
      ErrorKind::usage, [&] { curve_model_heads(threads_, files_, stories(), {}); }, "data");
}

TEST_F(HeadPruning, leaves_no_folder_when_it_is_interrupted) {
  const heads::PruneResult result = prune_model_heads(
      threads_, files_, numbers(), {.data = {.examples = 8}, .keep = 0.5, .out = folder_ / "never"},
      {.interrupted = [] { return true; }});
  EXPECT_TRUE(result.interrupted);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "never"));
}

TEST_F(HeadPruning, gates_write_the_model_without_the_heads_that_closed) {
  const LoadedModel loaded = numbers();
  const GatesRequest request{
      .data = {.examples = 24, .seed = 2}, .penalty = 0.05, .steps = 45, .out = folder_ / "gated"};
  const ModelGatesResult result = gate_model_heads(threads_, files_, loaded, request);
  ASSERT_FALSE(result.interrupted);
  const size_t closed = result.gates.closed().size();
  EXPECT_GT(closed, 0u);
  const LoadedModel gated = load_named_model(files_, folder_ / "gated");
  EXPECT_EQ(heads_in(*gated.model), 72 - static_cast<int64_t>(closed));
  const PruningData data = make_pruning_data(files_, gated, request.data);
  EXPECT_EQ(heads::measure_model(threads_, *gated.model, data.measured_on)->loss,
            result.binary.loss);
  EXPECT_NE(result.gated.loss, result.before.loss);
  const io::Json json = model_gates_json(result);
  EXPECT_EQ(json.find("open")->integer(), heads_in(*gated.model));
  EXPECT_TRUE(json.find("binary")->find("exact_match")->number());
  for (const nn::MultiHeadAttention* attention : loaded.model->attentions())
    EXPECT_FALSE(attention->gates().defined());
}

TEST_F(HeadPruning, a_text_is_cut_as_training_cuts_it) {
  const LoadedModel gpt = stories();
  const std::string text = story_text();
  const std::string path = folder_.put("text.txt", text);
  const std::string last = folder_.put("last.txt", std::string(data::split_text(text).valid));
  CurveRequest request{.data = {.data = path, .examples = 1000}};
  request.curves.methods = {heads::PruneMethod::random};
  request.curves.shares = {0};
  request.curves.random_orders = 1;
  const heads::CurveResult result = curve_model_heads(threads_, files_, gpt, request);
  const Evaluation evaluation = evaluate(threads_, files_, gpt, {.data = last});
  EXPECT_NEAR(result.curves.at(0).points.at(0).quality, evaluation.loss, 1e-5)
      << "the whole model's point is what evaluate says of the last tenth";
}

// Of copy and reverse, 500 held-out cases are those that evaluate takes for the loss.
TEST_F(HeadPruning, curves_of_a_generated_task_begin_with_what_evaluate_says) {
  models::Seq2SeqConfig config = models::small_seq2seq();
  const auto task = data::generated_task("copy");
  config.vocab_size = task->tokenizer().size();
  config.special_ids = {
      .padding = task->ids().pad, .end = task->ids().end, .decoder_start = task->ids().start};
  models::Seq2Seq model(config);
  models::fill(model, 3);
  const LoadedModel loaded = load_named_model(files_, saved("copy", model));
  CurveRequest request{.data = {.task = "copy", .examples = 500}};
  request.curves.methods = {heads::PruneMethod::random};
  request.curves.types = {"all"};
  request.curves.shares = {0};
  request.curves.random_orders = 1;
  const heads::CurveResult result = curve_model_heads(threads_, files_, loaded, request);
  const Evaluation evaluation = evaluate(threads_, files_, loaded, {.task = "copy"});
  EXPECT_EQ(result.metric, "exact_match");
  EXPECT_NEAR(result.curves.at(0).points.at(0).loss, evaluation.loss, 1e-5);
  EXPECT_EQ(result.curves.at(0).points.at(0).quality, evaluation.exact_match->all);
}

TEST_F(HeadPruning, chooses_and_trains_on_other_cases_than_it_measures_on) {
  const LoadedModel loaded = numbers();
  const auto task = data::generated_task("numbers");
  const PruningData data = make_pruning_data(files_, loaded, {.examples = 70, .seed = 4});
  EXPECT_EQ(heads::example_count(data.chosen_by), 70);
  EXPECT_EQ(heads::example_count(data.measured_on), 70);
  const auto number_of = [&](const models::Batch& row) {
    const int64_t* ids = row.source_ids.data<int64_t>();
    return *data::read_number_words(
        task->tokenizer().decode({ids, ids + row.source_ids.elements()}));
  };
  const auto expect_held_out = [&](const models::Batch& batch, bool held_out) {
    for (int64_t b = 0; b < batch.ids.size(0); ++b)
      EXPECT_EQ(number_of(heads::example_at(batch, b)) % 97 == 13, held_out);
  };
  for (const models::Batch& batch : data.chosen_by) expect_held_out(batch, false);
  for (const models::Batch& batch : data.measured_on) expect_held_out(batch, true);
  for (int64_t step = 0; step < 3; ++step) expect_held_out(data.training->batch(step), false);
}

TEST_F(HeadPruning, of_a_bert_hides_words_of_other_lines) {
  std::string text;
  for (int i = 0; i < 60; ++i) {
    text += i % 3 == 0   ? "the cat sat on the mat\n"
            : i % 3 == 1 ? "a dog ran to the door\n"
                         : "birds sing in old trees\n";
  }
  const LoadedModel loaded = words_bert(text);
  const std::string path = folder_.put("lines.txt", text);
  const PruningData data = make_pruning_data(files_, loaded, {.data = path, .examples = 100});
  EXPECT_EQ(data.task, "mlm");
  EXPECT_EQ(heads::example_count(data.chosen_by), 57);
  EXPECT_EQ(heads::example_count(data.measured_on), 3);
  EXPECT_FALSE(same_bits(data.training->batch(0).targets, data.training->batch(1).targets));
  EXPECT_TRUE(same_bits(data.training->batch(5).ids, data.training->batch(5).ids));
  const heads::PruneResult result = prune_model_heads(
      threads_, files_, loaded,
      {.data = {.data = path}, .keep = 0.5, .finetune = 40, .learning_rate = 5e-3});
  EXPECT_LT(result.finetuned->loss, result.pruned->loss - 0.3);
  const heads::PruneResult slow = prune_model_heads(
      threads_, files_, loaded,
      {.data = {.data = path}, .keep = 0.5, .finetune = 40, .learning_rate = 1e-9});
  EXPECT_NEAR(slow.finetuned->loss, slow.pruned->loss, 1e-4) << "at that rate nothing is learnt";
  // The same line, again and again, with other words hidden.
  std::string same;
  for (int i = 0; i < 20; ++i) same += "the cat sat on the mat\n";
  const PruningData one_line =
      make_pruning_data(files_, loaded, {.data = folder_.put("same.txt", same)});
  EXPECT_FALSE(same_bits(one_line.training->batch(0).targets, one_line.training->batch(1).targets));
  const std::string few = folder_.put("few.txt", "the cat sat\nthe dog ran\n");
  expect_refused(
      ErrorKind::bad_input, [&] { make_pruning_data(files_, loaded, {.data = few}); },
      "has 2 lines");
}

TEST_F(HeadPruning, of_pairs_measures_on_every_twentieth) {
  const LoadedModel loaded = load_named_model(files_, "thrones");
  std::string lines;
  for (int i = 0; i < 14; ++i) {
    for (const SentencePair& pair : default_sentences())
      lines += pair.source + "\t" + pair.target + "\n";
  }
  const std::string path = folder_.put("pairs.tsv", lines);
  const PruningData data = make_pruning_data(files_, loaded, {.data = path, .examples = 1000});
  EXPECT_EQ(data.task, "translate");
  const auto count = static_cast<int64_t>(14 * default_sentences().size());
  EXPECT_EQ(heads::example_count(data.measured_on), count / 20);
  EXPECT_EQ(heads::example_count(data.chosen_by), count - count / 20);
  const heads::PruneResult result = prune_model_heads(
      threads_, files_, loaded, {.data = {.data = path}, .keep = 0.5, .finetune = 10});
  EXPECT_TRUE(result.finetuned);
  EXPECT_LE(result.finetuned->loss, result.pruned->loss);
}

TEST_F(HeadPruning, of_ids_measures_on_every_twentieth_row) {
  const LoadedModel gpt = stories();
  std::vector<int64_t> numbers;
  for (int64_t row = 0; row < 60; ++row) {
    for (int64_t i = 0; i < 10; ++i) numbers.push_back(5 + (i * i + row % 3) % 40);
  }
  const tensor::Tensor ids = tensor::Tensor::of({60, 10}, numbers);
  io::write_array(files_, folder_ / "ids.npy", ids);
  ExamplesRequest request{.ids = folder_ / "ids.npy"};
  const PruningData data = make_pruning_data(files_, gpt, request);
  EXPECT_EQ(heads::example_count(data.chosen_by), 57);
  EXPECT_EQ(heads::example_count(data.measured_on), 3);
  EXPECT_FALSE(data.metric);
  EXPECT_TRUE(same_bits(data.measured_on.at(0).ids.slice(0, 1, 1).contiguous(),
                        ids.slice(0, 39, 1).contiguous()));
  EXPECT_TRUE(same_bits(data.training->batch(3).ids, data.training->batch(3).ids));
  EXPECT_FALSE(same_bits(data.training->batch(0).ids, data.training->batch(1).ids));
  EXPECT_EQ(data.training->batch(0).ids.size(0), 102) << "of 10 tokens each";
  const heads::PruneResult result =
      prune_model_heads(threads_, files_, gpt, {.data = request, .keep = 0.5, .finetune = 10});
  EXPECT_LT(result.finetuned->loss, result.pruned->loss - 0.5);
  request.targets = folder_ / "ids.npy";
  EXPECT_EQ(make_pruning_data(files_, gpt, request).metric->name, "exact_match");
  io::write_array(files_, folder_ / "few.npy", ids.slice(0, 0, 19).contiguous());
  expect_refused(
      ErrorKind::bad_input, [&] { make_pruning_data(files_, gpt, {.ids = folder_ / "few.npy"}); },
      "has 19 rows, 20 are needed");
}

TEST_F(HeadPruning, curves_remove_as_many_heads_in_a_round_as_is_asked) {
  const LoadedModel loaded = numbers();
  CurveRequest request{.data = {.examples = 8}};
  request.curves.methods = {heads::PruneMethod::gradient};
  request.curves.types = {"cross"};
  request.curves.shares = {0.5};
  request.curves.removal.per_round = 12;
  std::vector<std::string> names;
  request.curves.finished = [&](const std::string& part, const io::Json& json) {
    if (part != "order gradient cross 0") return;
    for (const io::Json& name : *json.array()) names.push_back(*name.text());
  };
  curve_model_heads(threads_, files_, loaded, request);
  const PruningData data = make_pruning_data(files_, loaded, request.data);
  const auto order_in = [&](int64_t per_round) {
    return names_of(heads::removal_order(threads_, *loaded.model, data.chosen_by,
                                         {.count = 12,
                                          .among = heads::heads_of_type(*loaded.model, "cross"),
                                          .per_round = per_round})
                        .heads);
  };
  EXPECT_EQ(names, order_in(12));
  EXPECT_NE(names, order_in(0)) << "else it would say nothing";
}

TEST_F(HeadPruning, curves_go_on_from_parts_that_are_known) {
  const LoadedModel loaded = numbers();
  CurveRequest request{.data = {.examples = 8}, .finetune = 2};
  request.curves.methods = {heads::PruneMethod::gradient, heads::PruneMethod::random};
  request.curves.types = {"cross"};
  request.curves.shares = {0, 0.5};
  request.curves.random_orders = 2;
  std::map<std::string, io::Json> parts;
  request.curves.finished = [&](const std::string& part, const io::Json& json) {
    EXPECT_TRUE(parts.emplace(part, json).second) << part;
  };
  const heads::CurveResult first = curve_model_heads(threads_, files_, loaded, request);
  EXPECT_EQ(first.curves.size(), 4u);
  EXPECT_TRUE(parts.contains("order gradient cross 0"));
  EXPECT_TRUE(parts.contains("point random cross 1 12"));
  EXPECT_TRUE(parts.contains("finetuned none"));
  request.curves.known = [&](const std::string& part) -> std::optional<io::Json> {
    return parts.at(part);
  };
  request.curves.finished = [](const std::string& part, const io::Json&) {
    ADD_FAILURE() << part << " was known";
  };
  const heads::CurveResult second = curve_model_heads(threads_, files_, loaded, request);
  EXPECT_EQ(io::json_text(heads::curves_json(first)), io::json_text(heads::curves_json(second)));
}

}  // namespace
}  // namespace headlight::recipes
