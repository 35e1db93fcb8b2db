// What the tutorial says at the steps of the walk, from the data set to the prediction.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>

#include "headlight/narrate/lessons/lesson_parts.h"
#include "headlight/narrate/lessons/transformer.h"
#include "headlight/nn/nn.h"

namespace headlight::narrate {
namespace {

using autograd::Value;
using tensor::Tensor;

constexpr int64_t kPaperWidth = 512;
constexpr const char* kEncoderSelf = "encoder.0.self";

// The variant of this key at this place, computed when it is asked for.
explain::Variant variant_at(const TransformerLesson& lesson, const std::string& place,
                            const std::string& key) {
  for (const explain::Variant& variant :
       explain::add_variants(lesson.trace, *lesson.worked.model, place)) {
    if (variant.key == key) return variant;
  }
  throw base::Error(base::ErrorKind::failed, "lesson", key, "there is no such variant");
}

// A variant's tensor that stands for this tensor of the run.
std::string form_of(const explain::Variant& variant, const std::string& name) {
  return "variant." + variant.key + "." + name;
}

// A chain in which each word waits for the one before, and one product for all words.
void add_recurrence(const TransformerLesson& lesson, ShownStep& shown) {
  constexpr int64_t kChainLength = 128;
  constexpr int64_t kChainWidth = 256;
  const Catalogue& catalogue = lesson.catalogue();
  tensor::Arena arena;
  autograd::Context context{.threads = lesson.options.threads, .arena = arena};
  const nn::Linear layer("recurrent", {.inputs = kChainWidth, .outputs = kChainWidth});
  nn::draw_normal(layer.parameters(), lesson.options.seed, 0.02F);
  const Value words =
      Value::leaf(drawn_numbers({1, kChainLength, kChainWidth}, lesson.options.seed, "words"));
  const double chained = lesson.options.runs->once("chained", [&] {
    return fastest_milliseconds(60, [&] {
      Value state = Value::leaf(ones_of({1, 1, kChainWidth}));
      for (int64_t t = 0; t < kChainLength; ++t) {
        state =
            autograd::add(context, layer.forward(context, state), autograd::slice(words, 1, t, 1));
      }
    });
  });
  const double at_once = lesson.options.runs->once(
      "at_once", [&] { return fastest_milliseconds(60, [&] { layer.forward(context, words); }); });
  shown.afterwards.push_back(lesson.text("lesson.transformer.recurrent",
                                         {{"words", std::to_string(kChainLength)},
                                          {"chained", catalogue.number(chained, 3) + " ms"},
                                          {"at_once", catalogue.number(at_once, 3) + " ms"}}));
  shown.numbers.push_back({"recurrent_milliseconds", chained});
  shown.numbers.push_back({"at_once_milliseconds", at_once});
}

// N, all words with repetitions, and V = count(set(N)).
void add_word_counts(const TransformerLesson& lesson, ShownStep& shown) {
  std::vector<int64_t> all;
  for (const recipes::SentencePair& pair : lesson.worked.sentences) {
    for (const std::string& text : {pair.source, pair.target}) {
      for (const int64_t id : lesson.worked.tokenizer.encode(text)) all.push_back(id);
    }
  }
  const std::set<int64_t> distinct(all.begin(), all.end());
  const auto count = static_cast<int64_t>(distinct.size());
  shown.paragraphs.push_back(
      lesson.text("lesson.transformer.vocabulary.count",
                  {{"words", std::to_string(all.size())},
                   {"distinct", std::to_string(count)},
                   {"special", std::to_string(lesson.worked.tokenizer.size() - count)},
                   {"size", std::to_string(lesson.worked.tokenizer.size())}}));
  shown.numbers.push_back({"N", static_cast<double>(all.size())});
  shown.numbers.push_back({"V", static_cast<double>(count)});
}

void add_paper_width(const TransformerLesson& lesson, ShownStep& shown) {
  const int64_t rows = lesson.worked.tokenizer.size();
  const int64_t width = lesson.worked.model->hidden_width();
  const auto numbers = [&](int64_t columns) { return std::to_string(rows * columns); };
  shown.paragraphs.push_back(
      lesson.text("lesson.transformer.embedding.width", {{"width", std::to_string(width)},
                                                         {"numbers", numbers(width)},
                                                         {"in_paper", numbers(kPaperWidth)}}));
  shown.numbers.push_back({"embedding_numbers", static_cast<double>(rows * width)});
  shown.numbers.push_back({"embedding_numbers_in_paper", static_cast<double>(rows * kPaperWidth)});
}

// PE(pos, 2i) and PE(pos, 2i + 1) of the first two words, beside what the engine has.
void add_position_by_hand(const TransformerLesson& lesson, ShownStep& shown) {
  const Catalogue& catalogue = lesson.catalogue();
  const Tensor positions = lesson.trace.values("encoder.positions");
  const int64_t width = positions.size(-1);
  const std::vector<std::string>& words = lesson.trace.input().source_tokens;
  ShownTable table{{{"pos", "i", catalogue.text("label.angle"), "", catalogue.text("label.by_hand"),
                     catalogue.text("page.engine")}}};
  double difference = 0;
  for (int64_t pos = 0; pos < 2; ++pos) {
    for (int64_t column = 0; column < width; ++column) {
      const int64_t i = column / 2;
      const double power = 2.0 * static_cast<double>(i) / static_cast<double>(width);
      const double angle = static_cast<double>(pos) / std::pow(10000.0, power);
      const double value = column % 2 == 0 ? std::sin(angle) : std::cos(angle);
      const double engine = positions.data<float>()[pos * width + column];
      difference = std::max(difference, std::fabs(value - engine));
      table.lines.push_back({std::to_string(pos), std::to_string(i), catalogue.number(angle, 4),
                             column % 2 == 0 ? "sin" : "cos", catalogue.number(value, 4),
                             catalogue.number(engine, 4)});
    }
  }
  shown.paragraphs.push_back(
      lesson.text("lesson.transformer.positions.by_hand",
                  {{"first", words[0]}, {"second", words[1]}, {"width", std::to_string(width)}}));
  shown.tables.push_back(table);
  shown.numbers.push_back({"position_difference", difference});
  shown.numbers.push_back(
      {"position_angle", 1 / std::pow(10000.0, 2.0 / static_cast<double>(width))});
}

// The row of the first word: its scores, and its weights by √D and by the embedding width.
void add_scale_by_width(const TransformerLesson& lesson, ShownStep& shown) {
  const Catalogue& catalogue = lesson.catalogue();
  const explain::Variant by_width = variant_at(lesson, kEncoderSelf, "scale.width");
  const std::string weights = std::string(kEncoderSelf) + ".weights";
  const Tensor scores = lesson.trace.values(std::string(kEncoderSelf) + ".scores");
  const Tensor ours = lesson.trace.values(weights);
  const Tensor theirs = lesson.trace.values(form_of(by_width, weights));
  const std::vector<std::string>& words = lesson.trace.input().source_tokens;
  ShownTable table{{{words[0] + " →", catalogue.text("tensor.scores"),
                     catalogue.text("label.by_root_of_head_width"),
                     catalogue.text("label.by_embedding_width")}}};
  for (size_t j = 0; j < words.size(); ++j) {
    table.lines.push_back({words[j], catalogue.number(scores.data<float>()[j], 4),
                           share_text(catalogue, ours.data<float>()[j]),
                           share_text(catalogue, theirs.data<float>()[j])});
  }
  shown.paragraphs.push_back(lesson.text("lesson.transformer.attention.by_width"));
  shown.tables.push_back(table);
  shown.arrays.push_back(
      shown_tensor(lesson.trace, catalogue, lesson.trace.at(form_of(by_width, weights))));
  shown.numbers.push_back({"weight_by_root_of_head_width", ours.data<float>()[0]});
  shown.numbers.push_back({"weight_by_embedding_width", theirs.data<float>()[0]});
}

// Pictures of attention, and how many heads others have.
void add_pictures(const TransformerLesson& lesson, ShownStep& shown) {
  const Tensor weights = lesson.trace.values(std::string(kEncoderSelf) + ".weights");
  const float* row = weights.data<float>();
  const auto brightest = std::max_element(row, row + weights.size(-1)) - row;
  const std::vector<std::string>& words = lesson.trace.input().source_tokens;
  shown.paragraphs.push_back(
      lesson.text("lesson.transformer.attention.spotlight",
                  {{"word", words[0]},
                   {"brightest", words[static_cast<size_t>(brightest)]},
                   {"weight", lesson.catalogue().number(row[brightest], 4)}}));
  shown.paragraphs.push_back(lesson.text("lesson.transformer.attention.heads"));
  shown.numbers.push_back({"brightest_weight", row[brightest]});
  shown.slips.push_back("llama_encodes");
}

// One linear layer in the feed-forward, beside the paper's two.
void add_one_layer(const TransformerLesson& lesson, ShownStep& shown) {
  const Catalogue& catalogue = lesson.catalogue();
  const explain::Variant one = variant_at(lesson, "encoder.0.ffn", "feed_forward.one");
  const Tensor ours = lesson.trace.values(one.result_of);
  const Tensor theirs = lesson.trace.values(one.tensors.back());
  ShownTable table{{{catalogue.text("label.column"), catalogue.text("label.two_layers"),
                     catalogue.text("label.one_layer")}}};
  for (int64_t column = 0; column < ours.size(-1); ++column) {
    table.lines.push_back({std::to_string(column), catalogue.number(ours.data<float>()[column], 4),
                           catalogue.number(theirs.data<float>()[column], 4)});
  }
  shown.paragraphs.push_back(lesson.text("lesson.transformer.feed_forward.one",
                                         {{"word", lesson.trace.input().source_tokens.front()}}));
  shown.tables.push_back(table);
  shown.arrays.push_back(
      shown_tensor(lesson.trace, catalogue, lesson.trace.at(one.tensors.back())));
  shown.numbers.push_back({"two_layers", ours.data<float>()[0]});
  shown.numbers.push_back({"one_layer", theirs.data<float>()[0]});
}

// The ids of the largest numbers, the largest first.
std::vector<int64_t> largest_of(const float* numbers, int64_t count, size_t most) {
  std::vector<int64_t> ids(static_cast<size_t>(count));
  std::iota(ids.begin(), ids.end(), 0);
  std::ranges::stable_sort(ids, [&](int64_t a, int64_t b) { return numbers[a] > numbers[b]; });
  ids.resize(std::min(most, ids.size()));
  return ids;
}

}  // namespace

ShownStep transformer_flattened(const TransformerLesson& lesson) {
  ShownStep shown{.number = number_of(Step::prediction),
                  .title = lesson.text("lesson.transformer.flattened.title")};
  constexpr size_t kLikeliest = 5;
  const Catalogue& catalogue = lesson.catalogue();
  const explain::Variant flat = variant_at(lesson, "logits", "prediction.flattened");
  const Tensor ours = lesson.trace.values("probabilities");
  const Tensor theirs = lesson.trace.values(flat.tensors.back());
  const std::vector<std::string>& words = lesson.trace.input().vocabulary;
  const float* last = ours.data<float>() + (ours.size(1) - 1) * ours.size(2);
  const std::vector<int64_t> likeliest = largest_of(last, ours.size(2), kLikeliest);
  ShownTable table{{{catalogue.text("label.word"), catalogue.text("label.per_row"),
                     catalogue.text("label.flattened")}}};
  for (const int64_t id : likeliest) {
    table.lines.push_back({words[static_cast<size_t>(id)], catalogue.number(last[id], 4),
                           catalogue.number(theirs.data<float>()[id], 4)});
  }
  const int64_t width = lesson.worked.model->hidden_width();
  shown.paragraphs.push_back(lesson.text("lesson.transformer.prediction.flattened",
                                         {{"rows", std::to_string(ours.size(1))},
                                          {"width", std::to_string(width)},
                                          {"all", std::to_string(ours.size(1) * width)}}));
  shown.tables.push_back(table);
  shown.arrays.push_back(
      shown_tensor(lesson.trace, catalogue, lesson.trace.at(flat.tensors.back())));
  shown.numbers.push_back({"probability_per_row", last[likeliest.front()]});
  shown.numbers.push_back({"probability_flattened", theirs.data<float>()[likeliest.front()]});
  return shown;
}

void add_to_walk(const TransformerLesson& lesson, Step step, ShownStep& shown) {
  switch (step) {
    case Step::data_set:
      return add_recurrence(lesson, shown);
    case Step::vocabulary:
      return add_word_counts(lesson, shown);
    case Step::embedding:
      return add_paper_width(lesson, shown);
    case Step::positions:
      return add_position_by_hand(lesson, shown);
    case Step::attention:
      add_pictures(lesson, shown);
      return add_scale_by_width(lesson, shown);
    case Step::feed_forward:
      return add_one_layer(lesson, shown);
    case Step::decoder:
      shown.paragraphs.push_back(lesson.text("lesson.transformer.decoder.start"));
      return;
    default:
      return;
  }
}

void add_masked_beside_ordinary(const TransformerLesson& lesson, const Tensor& ordinary,
                                const Tensor& masked, ShownStep& shown) {
  const Catalogue& catalogue = lesson.catalogue();
  const auto row = [&](const Tensor& weights, int64_t number) {
    std::string text;
    for (int64_t j = 0; j < weights.size(-1); ++j) {
      const double weight = weights.data<float>()[number * weights.size(-1) + j];
      text += (text.empty() ? "" : "  ") + catalogue.number(weight, 2);
    }
    return text;
  };
  ShownTable table{{{"", catalogue.text("label.ordinary"), catalogue.text("label.masked")}}};
  for (const auto& [line, without, with] :
       {std::array{"sees", "sees.ordinary", "sees.masked"},
        std::array{"used_in", "used_in.ordinary", "used_in.masked"},
        std::array{"above", "above.ordinary", "above.masked"}}) {
    const std::string key = "lesson.transformer.mask.table.";
    table.lines.push_back(
        {lesson.text(key + line), lesson.text(key + without), lesson.text(key + with)});
  }
  for (int64_t number = 0; number < ordinary.size(-2); ++number) {
    table.lines.push_back(
        {lesson.text("lesson.transformer.mask.table.row", {{"row", std::to_string(number + 1)}}),
         row(ordinary, number), row(masked, number)});
  }
  shown.paragraphs.push_back(lesson.text("lesson.transformer.mask.table"));
  shown.tables.push_back(table);
  shown.numbers.push_back({"ordinary_weight", ordinary.data<float>()[0]});
  shown.numbers.push_back({"masked_weight", masked.data<float>()[0]});
}

}  // namespace headlight::narrate
