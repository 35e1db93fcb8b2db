// Words in decoded sentences, found again among the tokens.
#include "headlight/recipes/word_pairs.h"

#include <algorithm>
#include <optional>

#include "headlight/infer/infer.h"
#include "headlight/recipes/train_settings.h"
#include "headlight/recipes/typed_words.h"

namespace headlight::recipes {
namespace {

using base::Error;
using base::ErrorKind;
using models::Batch;

bool is_word_byte_at(std::string_view text, size_t at) {
  return text::is_word(text::code_point_at(text, at).value);
}

// Whether a stretch of a text has no letter or number right beside it.
bool is_whole_word(std::string_view text, size_t begin, size_t end) {
  size_t before = begin;
  while (before > 0 && (static_cast<unsigned char>(text[--before]) & 0xC0) == 0x80) {
  }
  const bool begins = begin == 0 || !is_word_byte_at(text, before);
  return begins && (end == text.size() || !is_word_byte_at(text, end));
}

// The word as the tokenizer writes it.
std::string written_word(const text::Tokenizer& tokenizer, const std::string& word) {
  const std::vector<int64_t> ids = tokenizer.encode(word);
  const auto unknown = tokenizer.special().unk;
  if (ids.empty() || (unknown && std::ranges::count(ids, *unknown) > 0)) {
    base::refuse("word", io::in_quotes(word), "has no token of its own in the model's vocabulary");
  }
  std::string text = tokenizer.decode(ids);
  const std::vector<std::string_view> pieces = text::words(text);
  if (pieces.empty()) base::refuse("word", io::in_quotes(word), "has no letters");
  const auto begin = static_cast<size_t>(pieces.front().data() - text.data());
  const auto end = static_cast<size_t>(pieces.back().data() - text.data()) + pieces.back().size();
  return text.substr(begin, end - begin);
}

struct PlacePair {
  WordPlace from;
  WordPlace to;
};

// Places of two sequences, or of one: each of `from` with the nearest of `to`.
std::vector<PlacePair> nearest_pairs(const std::vector<WordPlace>& from,
                                     const std::vector<WordPlace>& to, bool one_sequence) {
  std::vector<PlacePair> pairs;
  for (const WordPlace& query : from) {
    const WordPlace* nearest = nullptr;
    const auto distance = [&](const WordPlace& key) { return std::abs(key.token - query.token); };
    for (const WordPlace& key : to) {
      if (one_sequence && key.token == query.token) continue;
      if (nearest == nullptr || distance(key) < distance(*nearest)) nearest = &key;
    }
    if (nearest != nullptr) pairs.push_back({query, *nearest});
  }
  return pairs;
}

// A sentence as ids: what is read by a model of one stack; or source and target.
struct Sentence {
  std::vector<int64_t> ids;
  std::vector<int64_t> source = {};
  std::string name;  // "file:12"
};

class RelationMaker {
 public:
  RelationMaker(base::ThreadPool& threads, base::FileSystem& files, const LoadedModel& loaded,
                const RelationRequest& request)
      : threads_(threads),
        files_(files),
        loaded_(loaded),
        model_(*loaded.model),
        request_(request),
        most_(request.data.examples > 0 ? request.data.examples : kDefaultExamples) {}

  RelationExamples planted(const std::string& task) {
    HeadExamples examples = make_head_examples(files_, loaded_, request_.data);
    RelationExamples made{
        .task = task, .examples = std::move(examples.batches), .metric = examples.metric};
    int64_t number = 0;
    for (const Batch& batch : made.examples) {
      for (int64_t b = 0; b < batch.ids.size(0); ++b, ++number) {
        const int64_t length = batch.source_lens.data<int64_t>()[b];
        for (int64_t at = 0; at < length; ++at)
          made.relation.cross.push_back({number, at, task == "reverse" ? length - 1 - at : at});
      }
    }
    return made;
  }

  RelationExamples of_words(const std::string& task) {
    tokenizer_ = need_tokenizer(files_, loaded_);
    made_.task = task;
    const std::string from = written_word(*tokenizer_, request_.from);
    const std::string to = written_word(*tokenizer_, request_.to);
    const std::vector<Sentence> sentences = corpus(task);
    for (const Sentence& sentence : sentences) {
      if (example_ == most_) break;
      add(sentence, from, to);
    }
    if (example_ == 0) refuse_words(sentences, from, to);
    return finish();
  }

  RelationExamples of_ids() {
    const std::vector<Batch> rows = id_examples(files_, loaded_, request_.data);
    const tensor::Tensor pairs =
        io::as_int64(io::read_array(files_, request_.pairs), "pairs").contiguous();
    if (pairs.rank() != 2 || pairs.size(0) == 0 || pairs.size(1) != 3) {
      base::refuse("pairs", request_.pairs,
                   "shape is " + pairs.shape().text() + ", (P,3) is needed: example, row, key");
    }
    const bool decodes = model_.capabilities().continues_prompt;
    RelationExamples made{.task = decodes ? "lm" : "mlm", .examples = heads::batched(rows)};
    if (!request_.data.targets.empty()) made.metric = heads::exact_match_metric();
    auto& relation = decodes ? made.relation.decoder : made.relation.encoder;
    for (int64_t p = 0; p < pairs.size(0); ++p) {
      const int64_t* numbers = pairs.data<int64_t>() + 3 * p;
      relation.push_back({numbers[0], numbers[1], numbers[2]});
    }
    return made;
  }

  RelationExamples of_file() {
    tokenizer_ = need_tokenizer(files_, loaded_);
    made_.task = model_.capabilities().translates         ? "translate"
                 : model_.capabilities().continues_prompt ? "lm"
                                                          : "mlm";
    const std::string text = text::read_text(files_, request_.pairs, request_.data.encoding);
    std::vector<std::vector<std::string>> rows;
    std::vector<Sentence> sentences;
    for (const NumberedLine& line : numbered_lines(text)) {
      const std::string name = request_.pairs + ":" + std::to_string(line.number);
      std::vector<std::string> columns = split_words(line.text, '\t');
      const bool has_all = columns.size() >= 3 && !text::words(columns[0]).empty() &&
                           !columns[1].empty() && !columns[2].empty();
      if (!has_all)
        base::refuse("pairs", name, "a sentence, a word and a word with tabs between are needed");
      sentences.push_back(sentence_of(columns[0], name));
      if (sentences.back().ids.empty() && sentences.back().source.empty())
        base::refuse("pairs", name, "the sentence has no tokens");
      rows.push_back(std::move(columns));
    }
    if (rows.empty()) base::refuse("pairs", request_.pairs, "has no lines");
    write_translations(sentences);
    for (size_t i = 0; i < rows.size(); ++i) {
      if (add(sentences[i], written_word(*tokenizer_, rows[i][1]),
              written_word(*tokenizer_, rows[i][2])))
        continue;
      base::refuse("pairs", sentences[i].name,
                   io::in_quotes(rows[i][1]) + " and " + io::in_quotes(rows[i][2]) +
                       " are not both in the sentence as whole words");
    }
    return finish();
  }

 private:
  [[noreturn]] void refuse_words(const std::vector<Sentence>& sentences, const std::string& from,
                                 const std::string& to) const {
    const auto sentences_with = [&](const std::string& word) {
      return std::to_string(std::ranges::count_if(sentences, [&](const Sentence& sentence) {
        return !word_places(*tokenizer_, sentence.ids, word).empty() ||
               !word_places(*tokenizer_, sentence.source, word).empty();
      }));
    };
    base::refuse("data", request_.data.data,
                 "no sentence has both " + io::in_quotes(request_.from) + " and " +
                     io::in_quotes(request_.to) + " as whole words; of " +
                     std::to_string(sentences.size()) + ", " + sentences_with(from) +
                     " have the first and " + sentences_with(to) +
                     " the second, as they are written here");
  }

  Sentence sentence_of(const std::string& line, const std::string& name) const {
    const int64_t context = model_.context_length();
    const bool framed = made_.task == "mlm";
    std::vector<int64_t> ids =
        framed ? framed_ids(*tokenizer_, line, context) : tokenizer_->encode(line);
    if (static_cast<int64_t>(ids.size()) > context) ids.resize(static_cast<size_t>(context));
    if (made_.task == "translate") return {.ids = {}, .source = std::move(ids), .name = name};
    return {.ids = std::move(ids), .name = name};
  }

  // What the model writes for sources that have no target yet.
  void write_translations(std::vector<Sentence>& sentences) {
    if (made_.task != "translate") return;
    tensor::Arena arena;
    autograd::Context context{.threads = threads_, .arena = arena};
    std::vector<std::vector<int64_t>> sources;
    for (const Sentence& sentence : sentences) sources.push_back(sentence.source);
    auto outputs = infer::greedy_outputs(context, model_, sources);
    const auto most = static_cast<size_t>(model_.context_length() - 1);
    for (size_t i = 0; i < sentences.size(); ++i) {
      sentences[i].ids = std::move(outputs[i].ids);
      if (sentences[i].ids.size() > most) sentences[i].ids.resize(most);
    }
  }

  std::vector<Sentence> corpus(const std::string& task) {
    std::vector<Sentence> sentences;
    if (task != "lm" && task != "mlm" && task != "translate") return task_sentences(task);
    if (request_.data.data.empty())
      throw Error(ErrorKind::usage, "data", "", "is missing: sentences to look for the words in");
    const std::string text = text::read_text(files_, request_.data.data, request_.data.encoding);
    if (task == "translate") {
      for (const data::Pair& pair : data::parse_pairs(text, request_.data.data)) {
        Sentence sentence = sentence_of(pair.source, request_.data.data);
        sentence.ids = tokenizer_->encode(pair.target);
        const auto most = static_cast<size_t>(model_.context_length() - 1);
        if (sentence.ids.size() > most) sentence.ids.resize(most);
        sentences.push_back(std::move(sentence));
      }
      return sentences;
    }
    for (const NumberedLine& line : numbered_lines(text))
      sentences.push_back(sentence_of(line.text, request_.data.data));
    return sentences;
  }

  std::vector<Sentence> task_sentences(const std::string& task) {
    std::vector<Sentence> sentences;
    const auto generated = data::generated_task(task);
    made_.metric = heads::exact_match_metric();
    for (const data::TaskCases& cases : generated->held_out(most_)) {
      for (int64_t i = 0; i < cases.pairs.size(); ++i)
        sentences.push_back(
            {.ids = cases.pairs.target(i), .source = cases.pairs.source(i), .name = task});
    }
    return sentences;
  }

  // Whether the sentence has such a pair, with which it becomes an example.
  bool add(const Sentence& sentence, const std::string& from, const std::string& to) {
    heads::Relation relation;
    int64_t first_tokens = 0;
    const auto append = [&](const std::vector<PlacePair>& pairs, int64_t shift,
                            std::vector<heads::PositionPair>& all) {
      for (const PlacePair& pair : pairs) {
        all.push_back({example_, pair.from.token + shift, pair.to.token + shift});
        first_tokens += !pair.from.is_whole_word || !pair.to.is_whole_word;
      }
    };
    const std::vector<WordPlace> from_here = word_places(*tokenizer_, sentence.ids, from);
    const std::vector<WordPlace> to_here = word_places(*tokenizer_, sentence.ids, to);
    const bool translates = model_.capabilities().translates;
    if (!translates) {
      const bool decodes = model_.capabilities().continues_prompt;
      append(nearest_pairs(from_here, to_here, true), 0,
             decodes ? relation.decoder : relation.encoder);
    } else {
      const std::vector<WordPlace> from_source = word_places(*tokenizer_, sentence.source, from);
      const std::vector<WordPlace> to_source = word_places(*tokenizer_, sentence.source, to);
      append(nearest_pairs(from_source, to_source, true), 0, relation.encoder);
      // The decoder reads a start first.
      append(nearest_pairs(from_here, to_here, true), 1, relation.decoder);
      append(nearest_pairs(from_here, to_source, false), 0, relation.cross);
    }
    const bool is_readable = translates ? !sentence.source.empty() : sentence.ids.size() >= 2;
    if (relation.size() == 0 || !is_readable) return false;
    rows_.push_back(example_of(sentence));
    if (made_.task == "mlm") hidden_.push_back(hidden_of(sentence));
    for (auto member :
         {&heads::Relation::encoder, &heads::Relation::decoder, &heads::Relation::cross}) {
      auto& all = made_.relation.*member;
      all.insert(all.end(), (relation.*member).begin(), (relation.*member).end());
    }
    made_.first_tokens += first_tokens;
    ++example_;
    return true;
  }

  Batch example_of(const Sentence& sentence) const {
    const auto row = [](const std::vector<int64_t>& ids) {
      return tensor::Tensor::of({1, static_cast<int64_t>(ids.size())}, ids);
    };
    if (made_.task == "mlm")
      return {.ids = row(sentence.ids),
              .targets = row(std::vector<int64_t>(sentence.ids.size(), -1))};
    if (made_.task != "lm")
      return pair_example(sentence.source, sentence.ids, decoder_ids(model_, loaded_.folder));
    std::vector<int64_t> targets(sentence.ids.begin() + 1, sentence.ids.end());
    targets.push_back(-1);
    return {.ids = row(sentence.ids), .targets = row(targets)};
  }

  Batch hidden_of(const Sentence& sentence) {
    if (hidden_words_.words.empty())
      hidden_words_ = data::hidden_words(*tokenizer_, loaded_.folder);
    return masked_example(sentence.ids, hidden_words_, request_.data.seed,
                          static_cast<uint64_t>(example_));
  }

  RelationExamples finish() {
    made_.examples = heads::batched(rows_);
    if (!hidden_.empty()) made_.measured_on = heads::batched(hidden_);
    return std::move(made_);
  }

  base::ThreadPool& threads_;
  base::FileSystem& files_;
  const LoadedModel& loaded_;
  const models::Model& model_;
  const RelationRequest& request_;
  int64_t most_;
  std::optional<text::Tokenizer> tokenizer_;
  RelationExamples made_;
  std::vector<Batch> rows_;
  std::vector<Batch> hidden_;
  data::HiddenWords hidden_words_;
  int64_t example_ = 0;
};

}  // namespace

std::vector<WordPlace> word_places(const text::Tokenizer& tokenizer,
                                   const std::vector<int64_t>& ids, const std::string& word) {
  text::StreamDecoder decoder(tokenizer, {.special = false});
  std::string text;
  std::vector<size_t> begins;  // of each token in the text, and the end
  for (const int64_t id : ids) {
    begins.push_back(text.size());
    text += decoder.add(id);
  }
  text += decoder.finish();
  begins.push_back(text.size());
  std::vector<WordPlace> places;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    if (!is_whole_word(text, at, at + word.size())) continue;
    // The first token that begins there, or the one in which it lies.
    std::optional<size_t> token;
    for (size_t i = 0; i < ids.size() && begins[i] <= at; ++i) {
      if (tokenizer.is_special(ids[i])) continue;
      if (!token || begins[*token] != at) token = i;
    }
    if (!token) continue;
    places.push_back({static_cast<int64_t>(*token), begins[*token + 1] >= at + word.size()});
  }
  return places;
}

RelationExamples make_relation(base::ThreadPool& threads, base::FileSystem& files,
                               const LoadedModel& loaded, const RelationRequest& request) {
  RelationMaker maker(threads, files, loaded, request);
  if (!request.pairs.empty()) {
    if (!loaded.model->has_logits()) examples_task(files, loaded, request.data);
    return request.data.ids.empty() ? maker.of_file() : maker.of_ids();
  }
  const std::string task = examples_task(files, loaded, request.data);
  if (request.from.empty() != request.to.empty()) {
    throw Error(ErrorKind::usage, request.from.empty() ? "from" : "to", "",
                "is missing: a relation has two words");
  }
  if (!request.from.empty()) return maker.of_words(task);
  if (task == "reverse" || task == "copy") return maker.planted(task);
  throw Error(ErrorKind::usage, "pairs", "",
              "are missing: two words, or a file of sentences with two words each; of tasks, "
              "reverse and copy are made of a relation");
}

}  // namespace headlight::recipes
