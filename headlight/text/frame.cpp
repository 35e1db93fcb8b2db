// Post-processors of tokenizer.json, of which only the tokens around a single text matter here.
#include "headlight/text/special_tokens.h"

namespace headlight::text {
namespace {

constexpr std::string_view kReadFrames =
    "ByteLevel, BertProcessing, RobertaProcessing and TemplateProcessing";

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

// {"SpecialToken": {"id": "[CLS]"}} or {"Sequence": {"id": "A"}}; the ids stand in
// "special_tokens".
void read_template(const Component& component, const Vocabulary& vocabulary, Frame& frame) {
  bool is_before = true;
  const io::Json* special = component.find("special_tokens");
  for (const io::Json& part : component.array("single")) {
    const io::Json* token = part.find("SpecialToken");
    if (!token) {
      if (!part.find("Sequence")) component.refuse("\"single\" holds something unknown");
      is_before = false;
      continue;
    }
    const io::Json* name = token->find("id");
    if (!name || !name->text()) component.refuse("a special token has no \"id\"");
    const io::Json* entry = special ? special->find(*name->text()) : nullptr;
    const io::Json* ids = entry ? entry->find("ids") : nullptr;
    if (!ids || !ids->array()) {
      component.refuse("the special token " + io::in_quotes(*name->text()) + " has no \"ids\"");
    }
    for (const io::Json& id : *ids->array()) {
      (is_before ? frame.before : frame.after)
          .push_back(checked(component, vocabulary, id.integer()));
    }
  }
}

}  // namespace

Frame read_frame(const Component& component, const Vocabulary& vocabulary) {
  Frame frame;
  const std::string& type = component.type();
  if (component.is_absent() || type == "ByteLevel") return frame;
  if (type == "BertProcessing" || type == "RobertaProcessing") {
    frame.before = {id_of_pair(component, vocabulary, "cls")};
    frame.after = {id_of_pair(component, vocabulary, "sep")};
  } else if (type == "TemplateProcessing") {
    read_template(component, vocabulary, frame);
  } else {
    component.refuse_type(kReadFrames);
  }
  return frame;
}

}  // namespace headlight::text
