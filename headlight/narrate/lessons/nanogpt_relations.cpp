// Two relations of one sentence, and the heads that learn to see them.
#include <array>

#include "headlight/narrate/lessons/lesson_parts.h"
#include "headlight/narrate/lessons/nanogpt.h"
#include "headlight/nn/nn.h"
#include "headlight/optim/optim.h"

namespace headlight::narrate {
namespace {

using autograd::Value;
using tensor::Tensor;

// "Azərbaycanın gözəl paytaxtı Bakıdır.": eight owners, each with its capital, and eight adjectives
// make 64 sentences.
constexpr std::array kOwners = {"Azərbaycanın", "Türkiyənin", "Gürcüstanın", "Koreyanın",
                                "Fransanın",    "İtaliyanın", "Yaponiyanın", "Misirin"};
constexpr std::array kAdjectives = {"gözəl", "böyük", "qədim",  "sakit",
                                    "canlı", "yaşıl", "işıqlı", "zəngin"};
constexpr std::array kCapitals = {"Bakıdır.",  "Ankaradır.", "Tiflisdir.", "Seuldur.",
                                  "Parisdir.", "Romadır.",   "Tokiodur.",  "Qahirədir."};
constexpr const char* kPossessed = "paytaxtı";
constexpr int64_t kKinds = std::ssize(kOwners);  // and as many adjectives and capitals
constexpr int64_t kVocabulary = 3 * kKinds + 1;  // ids: owners, adjectives, capitals, paytaxtı
constexpr int64_t kPatternLength = 4;            // words of a sentence
enum PatternWord { kOwner, kAdjective, kThing, kCapital };

constexpr int64_t kEmbeddingWidth = 16;
constexpr int64_t kAllHeadsWidth = 8;  // two heads of 4, or one of 8
constexpr int kLearningSteps = 200;

// The sentences as ids, and the right answers after the words that are asked. What is it like?
// Asked of the last two words. Whose is it? Asked of paytaxtı, for the capital would know it by
// itself.
struct Sentences {
  Tensor ids, adjectives, owners;  // (64, 4)
};

Sentences make_sentences() {
  std::vector<int64_t> ids, adjectives, owners;
  for (int64_t owner = 0; owner < kKinds; ++owner) {
    for (int64_t adjective = 0; adjective < kKinds; ++adjective) {
      ids.insert(ids.end(), {owner, kKinds + adjective, kVocabulary - 1, 2 * kKinds + owner});
      adjectives.insert(adjectives.end(), {-1, -1, adjective, adjective});
      owners.insert(owners.end(), {-1, -1, owner, -1});
    }
  }
  const tensor::Shape shape{kKinds * kKinds, kPatternLength};
  return {Tensor::of(shape, ids), Tensor::of(shape, adjectives), Tensor::of(shape, owners)};
}

// A row for each word and for each place, causal attention without an output projection, and one
// question for each half of its columns; a head alone answers both from all of them.
class Reader {
 public:
  Reader(int64_t heads, uint64_t seed)
      : heads_(heads),
        words_("words", kVocabulary, kEmbeddingWidth),
        places_("places", kPatternLength, kEmbeddingWidth),
        attention_({.query_width = kEmbeddingWidth,
                    .heads = heads,
                    .out_dim = kAllHeadsWidth,
                    .output_projection = false,
                    .qkv_bias = false}) {
    for (const char* question : {"adjective", "owner"}) {
      questions_.emplace_back(
          question,
          nn::LinearOptions{.inputs = kAllHeadsWidth / heads, .outputs = kKinds, .bias = false});
    }
    nn::draw_normal(words_.parameters(), seed, 0.3F);
    nn::draw_normal(places_.parameters(), seed, 0.5F);
    nn::draw_xavier_uniform(parameters(), seed);
  }

  nn::Parameters parameters() const {
    nn::Parameters all = words_.parameters();
    nn::append(all, places_.parameters());
    nn::append(all, attention_.parameters());
    for (const nn::Linear& question : questions_) nn::append(all, question.parameters());
    return all;
  }

  Value attend(autograd::Context& context, const Tensor& ids) const {
    const Tensor places = Tensor::of({kPatternLength}, std::vector<int64_t>{0, 1, 2, 3});
    const Value x =
        autograd::add(context, words_.forward(context, ids), places_.forward(context, places));
    return attention_.forward(context, x, {.causal = true});
  }

  Value loss(autograd::Context& context, const Sentences& sentences) const {
    const Value seen = attend(context, sentences.ids);
    const std::vector<Value> halves =
        heads_ == 1 ? std::vector<Value>{seen, seen}
                    : autograd::split(seen, {kAllHeadsWidth / 2, kAllHeadsWidth / 2});
    const auto asked = [&](size_t question, const Tensor& answers) {
      const Value logits = questions_[question].forward(context, halves[question]);
      return autograd::reshape(autograd::cross_entropy(context, logits, answers), {1});
    };
    return autograd::add(context, asked(0, sentences.adjectives), asked(1, sentences.owners));
  }

 private:
  int64_t heads_;
  nn::Embedding words_;
  nn::Embedding places_;
  nn::MultiHeadAttention attention_;
  std::vector<nn::Linear> questions_;
};

struct Learned {
  Tensor weights;  // (1, H, 4, 4), the mean over all sentences
  double loss = 0;
};

// (B, H, T, S) as (1, H, T, S).
Tensor mean_of_sequences(const Tensor& weights) {
  const int64_t count = weights.size(0);
  const int64_t each = weights.elements() / count;
  std::vector<float> mean(static_cast<size_t>(each));
  for (int64_t i = 0; i < weights.elements(); ++i) {
    mean[static_cast<size_t>(i % each)] += weights.data<float>()[i] / static_cast<float>(count);
  }
  return Tensor::of({1, weights.size(1), weights.size(2), weights.size(3)}, mean);
}

Learned learn_relations(LessonOptions& options, int64_t heads) {
  const Sentences sentences = make_sentences();
  const Reader reader(heads, options.seed);
  optim::Optimizer optimizer(reader.parameters(), {.learning_rate = 0.01, .weight_decay = 0.1});
  tensor::Arena arena;
  for (int step = 0; step < kLearningSteps; ++step) {
    autograd::Tape tape;
    autograd::Context context{.threads = options.threads, .arena = arena, .tape = &tape};
    tape.backward(context, reader.loss(context, sentences));
    optimizer.step(context.execution());
    optimizer.clear_gradients();
  }
  autograd::Recording seen = record_all();
  autograd::Context context{.threads = options.threads, .arena = arena, .observer = &seen};
  const double loss = reader.loss(context, sentences).data().data<float>()[0];
  return {mean_of_sequences(seen.seen("weights")), loss};
}

// How much word `row` looks at word `column`.
double weight_at(const Tensor& weights, int64_t head, PatternWord row, PatternWord column) {
  return weights.data<float>()[(head * kPatternLength + row) * kPatternLength + column];
}

std::vector<std::string> pattern_words() {
  return {kOwners.front(), kAdjectives.front(), kPossessed, kCapitals.front()};
}

void draw_learned(const LessonOptions& options, const Learned& learned, bool alone,
                  ShownStep& step) {
  const Catalogue& catalogue = options.catalogue;
  for (int64_t head = 0; head < learned.weights.size(1); ++head) {
    step.heads.push_back(
        {alone ? catalogue.text("label.one_head")
               : catalogue.text("place.head", {{"head", std::to_string(head)}}),
         learned.weights.slice(1, head, 1).contiguous().reshaped({kPatternLength, kPatternLength}),
         {pattern_words(), pattern_words()}});
  }
  ShownArray array = lesson_array(options, alone ? "one_head.weights" : "two_heads.weights",
                                  "weights", learned.weights);
  array.axes = {explain::Axis::batch, explain::Axis::head, explain::Axis::token,
                explain::Axis::column};
  array.labels = {{}, {}, pattern_words(), pattern_words()};
  if (alone) array.title += ": " + catalogue.text("label.one_head");
  step.arrays.push_back(array);
}

}  // namespace

ShownStep nanogpt_relations(LessonOptions& options) {
  const Catalogue& catalogue = options.catalogue;
  const Learned& two = options.runs->once("two_heads", [&] { return learn_relations(options, 2); });
  const Learned& one = options.runs->once("one_head", [&] { return learn_relations(options, 1); });
  ShownStep step = lesson_step(options, "nanogpt", 11);
  step.paragraphs.push_back(catalogue.text(
      "lesson.nanogpt.11.run",
      {{"sentences", std::to_string(kKinds * kKinds)}, {"steps", std::to_string(kLearningSteps)}}));
  const auto head_name = [&](int head) {
    return catalogue.text("place.head", {{"head", std::to_string(head)}});
  };
  ShownTable table{{{catalogue.text("label.relation"), head_name(0), head_name(1),
                     catalogue.text("label.one_head")}}};
  const auto add_relation = [&](const char* relation, const char* name, PatternWord row,
                                PatternWord column) {
    const double first = weight_at(two.weights, 0, row, column);
    const double second = weight_at(two.weights, 1, row, column);
    const double alone = weight_at(one.weights, 0, row, column);
    table.lines.push_back({relation, share_text(catalogue, first), share_text(catalogue, second),
                           share_text(catalogue, alone)});
    step.numbers.insert(step.numbers.end(), {{std::string(name) + "_head_0", first},
                                             {std::string(name) + "_head_1", second},
                                             {std::string(name) + "_one_head", alone}});
  };
  add_relation("gözəl → Bakıdır", "adjective", kCapital, kAdjective);
  add_relation("gözəl → paytaxtı", "adjective_of_thing", kThing, kAdjective);
  add_relation("Azərbaycanın → paytaxtı", "possession", kThing, kOwner);
  table.lines.push_back({catalogue.text("label.loss"), catalogue.number(two.loss, 4), "",
                         catalogue.number(one.loss, 4)});
  step.numbers.insert(step.numbers.end(),
                      {{"two_heads_loss", two.loss}, {"one_head_loss", one.loss}});
  step.tables = {table};
  draw_learned(options, two, false, step);
  draw_learned(options, one, true, step);
  step.afterwards = {catalogue.text("lesson.nanogpt.11.answer")};
  return step;
}

}  // namespace headlight::narrate
