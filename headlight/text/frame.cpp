// Post-processors of tokenizer.json: the tokens around a text, and around two.
#include <algorithm>

#include "headlight/text/special_tokens.h"

namespace headlight::text {
namespace {

constexpr std::string_view kReadFrames =
    "ByteLevel, BertProcessing, RobertaProcessing, TemplateProcessing and a Sequence of them";

int64_t checked(const Component& component, const Vocabulary& vocabulary,
                std::optional<int64_t> id) {
  if (id && vocabulary.contains(*id)) return *id;
  component.refuse("an id is missing or not in the vocabulary of " +
                   std::to_string(vocabulary.size()));
}

// "sep": ["[SEP]", 102]
int64_t id_of_pair(const Component& component, const Vocabulary& vocabulary, std::string_view key) {
  const io::Json::Array& pair = component.array(key);
  if (pair.size() != 2) component.refuse("\"" + std::string(key) + "\" is not a token and its id");
  return checked(component, vocabulary, pair[1].integer());
}

// {"Sequence": {"id": "A"}}, once.
void check_sequence(const Component& component, const io::Json& part, bool is_before) {
  const io::Json* sequence = part.find("Sequence");
  if (!sequence) component.refuse("\"single\" holds something unknown");
  const io::Json* id = sequence->find("id");
  if (id && (!id->text() || *id->text() != "A")) {
    component.refuse("\"single\" holds the second of two texts");
  }
  if (!is_before) component.refuse("\"single\" holds the text twice");
}

// The ids of {"SpecialToken": {"id": "[CLS]"}}; they stand in "special_tokens".
std::vector<int64_t> ids_of_special(const Component& component, const Vocabulary& vocabulary,
                                    const io::Json& token) {
  const io::Json* special = component.find("special_tokens");
  const io::Json* name = token.find("id");
  if (!name || !name->text()) component.refuse("a special token has no \"id\"");
  const io::Json* entry = special ? special->find(*name->text()) : nullptr;
  const io::Json* listed = entry ? entry->find("ids") : nullptr;
  if (!listed || !listed->array()) {
    component.refuse("the special token " + io::in_quotes(*name->text()) + " has no \"ids\"");
  }
  std::vector<int64_t> ids;
  for (const io::Json& id : *listed->array()) {
    ids.push_back(checked(component, vocabulary, id.integer()));
  }
  return ids;
}

// Special tokens, and {"Sequence": {"id": "A"}} for the text.
void read_template(const Component& component, const Vocabulary& vocabulary, Frame& frame) {
  constexpr size_t kMostIds = 64;
  bool is_before = true;
  for (const io::Json& part : component.array("single")) {
    const io::Json* token = part.find("SpecialToken");
    if (!token) {
      check_sequence(component, part, is_before);
      is_before = false;
      continue;
    }
    const std::vector<int64_t> ids = ids_of_special(component, vocabulary, *token);
    auto& side = is_before ? frame.before : frame.after;
    side.insert(side.end(), ids.begin(), ids.end());
    if (frame.before.size() + frame.after.size() > kMostIds) {
      component.refuse("\"single\" puts more than " + std::to_string(kMostIds) +
                       " ids around a text");
    }
  }
  if (is_before) component.refuse("\"single\" leaves out the text");
}

using Kind = PairPart::Kind;

// Of a part of a template, its "type_id".
int64_t segment_of(const Component& component, const io::Json& part) {
  constexpr int64_t kMost = 1'000'000;
  const io::Json* given = part.find("type_id");
  const auto segment = given ? given->integer() : std::optional<int64_t>(0);
  if (!segment || *segment < 0 || *segment > kMost) {
    component.refuse("\"pair\" has a \"type_id\" that is none");
  }
  return *segment;
}

Kind text_of(const Component& component, const io::Json& part) {
  const io::Json* sequence = part.find("Sequence");
  const io::Json* id = sequence ? sequence->find("id") : nullptr;
  if (!id || !id->text() || (*id->text() != "A" && *id->text() != "B")) {
    component.refuse("\"pair\" holds something unknown");
  }
  return *id->text() == "A" ? Kind::first : Kind::second;
}

// The template of two texts, {"Sequence": {"id": "B", "type_id": 1}} among its parts.
std::vector<PairPart> read_pair(const Component& component, const Vocabulary& vocabulary) {
  std::vector<PairPart> pair;
  for (const io::Json& part : component.array("pair")) {
    component.check_steps(pair.size());
    const io::Json* token = part.find("SpecialToken");
    if (!token) {
      const Kind kind = text_of(component, part);
      const int64_t segment = segment_of(component, *part.find("Sequence"));
      pair.push_back({.kind = kind, .segment = segment});
      continue;
    }
    const int64_t segment = segment_of(component, *token);
    for (const int64_t id : ids_of_special(component, vocabulary, *token)) {
      pair.push_back({.id = id, .segment = segment});
    }
  }
  for (const Kind kind : {Kind::first, Kind::second}) {
    if (std::ranges::count(pair, kind, &PairPart::kind) == 1) continue;
    component.refuse("\"pair\" does not hold each of two texts once");
  }
  return pair;
}

// What is wrong with it is told to who has two texts.
void read_pair_template(const Component& component, const Vocabulary& vocabulary, Frame& frame) {
  try {
    frame.pair = read_pair(component, vocabulary);
  } catch (const base::Error& error) {
    frame.pair_problem = error.what();
  }
}

// BERT has [CLS] A [SEP] B [SEP], RoBERTa <s> A </s></s> B </s> and one segment.
std::vector<PairPart> bert_pair(int64_t cls, int64_t sep, bool is_roberta) {
  const int64_t second = is_roberta ? 0 : 1;
  std::vector<PairPart> pair = {{.id = cls}, {.kind = Kind::first}, {.id = sep}};
  if (is_roberta) pair.push_back({.id = sep});
  pair.push_back({.kind = Kind::second, .segment = second});
  pair.push_back({.id = sep, .segment = second});
  return pair;
}

bool holds_template(const io::Json& component) {
  const io::Json* type = component.find("type");
  if (type && *type == io::Json("TemplateProcessing")) return true;
  const io::Json* parts = component.find("processors");
  return parts && parts->array() && std::ranges::any_of(*parts->array(), holds_template);
}

// One text after the other.
std::vector<PairPart> plain_pair() {
  return {{.kind = Kind::first}, {.kind = Kind::second, .segment = 1}};
}

}  // namespace

Frame read_frame(const Component& component, const Vocabulary& vocabulary) {
  Frame frame;
  const std::string& type = component.type();
  if (component.is_absent() || type == "ByteLevel") {
    frame.pair = plain_pair();
    return frame;
  }
  if (type == "BertProcessing" || type == "RobertaProcessing") {
    frame.before = {id_of_pair(component, vocabulary, "cls")};
    frame.after = {id_of_pair(component, vocabulary, "sep")};
    frame.pair = bert_pair(frame.before[0], frame.after[0], type == "RobertaProcessing");
  } else if (type == "TemplateProcessing") {
    read_template(component, vocabulary, frame);
    read_pair_template(component, vocabulary, frame);
  } else if (type == "Sequence") {
    // Each puts its tokens around what the one before made; two texts have one that does.
    frame.pair = plain_pair();
    bool has_framed = false;
    bool is_in_parts = false;  // a template leaves its tokens and the text apart
    for (const io::Json& part : component.array("processors")) {
      const Frame outer = read_frame({part, "post_processor", component.name()}, vocabulary);
      const bool has_tokens = !outer.before.empty() || !outer.after.empty();
      if (is_in_parts && has_tokens) {
        component.refuse("tokens around those of a TemplateProcessing are not supported");
      }
      is_in_parts = is_in_parts || (has_tokens && holds_template(part));
      frame.before.insert(frame.before.begin(), outer.before.begin(), outer.before.end());
      frame.after.insert(frame.after.end(), outer.after.begin(), outer.after.end());
      component.check_steps(frame.before.size() + frame.after.size());
      if (part.find("type") && *part.find("type") == io::Json("ByteLevel")) continue;
      frame.pair = has_framed ? std::nullopt : outer.pair;
      frame.pair_problem = has_framed ? "several post-processors frame texts" : outer.pair_problem;
      has_framed = true;
    }
  } else {
    component.refuse_type(kReadFrames);
  }
  return frame;
}

}  // namespace headlight::text
