// Classes of transformers 5 by names and by types of models.
#include "headlight/text/tokenizer_class.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "headlight/text/vocabulary.h"

namespace headlight::text {
namespace {

using Object = io::Json::Object;
using Tokens = std::map<std::string, std::string>;

struct TypeClass {
  std::string_view model_type;
  std::string_view class_name;
  bool overrides = false;  // whatever its folders name
};

constexpr std::array kTypeClasses = {
    TypeClass{"albert", "AlbertTokenizer"},
    TypeClass{"bart", "RobertaTokenizer"},
    TypeClass{"bert", "BertTokenizer"},
    TypeClass{"codegen", "GPT2Tokenizer"},
    TypeClass{"distilbert", "BertTokenizer"},
    TypeClass{"electra", "BertTokenizer"},
    TypeClass{"gemma", "GemmaTokenizer"},
    TypeClass{"gemma2", "GemmaTokenizer"},
    TypeClass{"gemma3", "GemmaTokenizer"},
    TypeClass{"gemma3_text", "GemmaTokenizer"},
    TypeClass{"glm", kGenericClass, true},
    TypeClass{"glm4", kGenericClass, true},
    TypeClass{"gpt2", "GPT2Tokenizer"},
    TypeClass{"gpt_bigcode", kGenericClass, true},
    TypeClass{"gpt_neo", "GPT2Tokenizer"},
    TypeClass{"gpt_neox", "GPTNeoXTokenizer"},
    TypeClass{"gptj", "GPT2Tokenizer"},
    TypeClass{"granite", kGenericClass, true},
    TypeClass{"longformer", "RobertaTokenizer"},
    TypeClass{"mamba", "GPTNeoXTokenizer"},
    TypeClass{"ministral", kGenericClass, true},
    TypeClass{"mistral", kGenericClass, true},
    TypeClass{"mixtral", kGenericClass, true},
    TypeClass{"modernbert", kGenericClass, true},
    TypeClass{"modernbert-decoder", kGenericClass, true},
    TypeClass{"mpt", "GPTNeoXTokenizer"},
    TypeClass{"olmo", "GPTNeoXTokenizer"},
    TypeClass{"olmo2", kGenericClass, true},
    TypeClass{"olmo3", kGenericClass, true},
    TypeClass{"olmoe", "GPTNeoXTokenizer"},
    TypeClass{"opt", "GPT2Tokenizer"},
    TypeClass{"phi", "GPT2Tokenizer"},
    TypeClass{"phi3", kGenericClass, true},
    TypeClass{"qwen2", "Qwen2Tokenizer", true},
    TypeClass{"qwen2_moe", "Qwen2Tokenizer"},
    TypeClass{"qwen3", "Qwen2Tokenizer"},
    TypeClass{"qwen3_moe", "Qwen2Tokenizer"},
    TypeClass{"roberta", "RobertaTokenizer"},
    TypeClass{"stablelm", kGenericClass, true},
    TypeClass{"starcoder2", "GPT2Tokenizer"},
    TypeClass{"umt5", kGenericClass, true},
};

constexpr const char* kQwen2Expression =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

const std::map<std::string, Tokens>& tokens_by_class() {
  constexpr const char* kEnd = "<|endoftext|>";
  static const Tokens kGpt2 = {{"bos_token", kEnd}, {"eos_token", kEnd}, {"unk_token", kEnd}};
  static const Tokens kBrackets = {{"cls_token", "[CLS]"},
                                   {"mask_token", "[MASK]"},
                                   {"pad_token", "[PAD]"},
                                   {"sep_token", "[SEP]"},
                                   {"unk_token", "[UNK]"}};
  static const std::map<std::string, Tokens> kTokens = {
      {"AlbertTokenizer",
       {{"bos_token", "[CLS]"},
        {"cls_token", "[CLS]"},
        {"eos_token", "[SEP]"},
        {"mask_token", "[MASK]"},
        {"pad_token", "<pad>"},
        {"sep_token", "[SEP]"},
        {"unk_token", "<unk>"}}},
      {"BertTokenizer", kBrackets},
      {"CodeGenTokenizer", kGpt2},
      {"GPT2Tokenizer", kGpt2},
      {"GPTNeoXTokenizer",
       {{"bos_token", kEnd},
        {"eos_token", kEnd},
        {"pad_token", "<|padding|>"},
        {"unk_token", kEnd}}},
      {"GemmaTokenizer",
       {{"bos_token", "<bos>"},
        {"eos_token", "<eos>"},
        {"mask_token", "<mask>"},
        {"pad_token", "<pad>"},
        {"unk_token", "<unk>"}}},
      {"LlamaTokenizer", {{"bos_token", "<s>"}, {"eos_token", "</s>"}, {"unk_token", "<unk>"}}},
      {"Qwen2Tokenizer", {{"eos_token", kEnd}, {"pad_token", kEnd}, {"unk_token", kEnd}}},
      {"RobertaTokenizer",
       {{"bos_token", "<s>"},
        {"cls_token", "<s>"},
        {"eos_token", "</s>"},
        {"mask_token", "<mask>"},
        {"pad_token", "<pad>"},
        {"sep_token", "</s>"},
        {"unk_token", "<unk>"}}},
  };
  return kTokens;
}

// Other names of a class.
std::string plain_name(std::string name) {
  if (name == "PreTrainedTokenizerFast" || name == "PreTrainedTokenizer") return kGenericClass;
  if (name.ends_with("Fast")) name.resize(name.size() - 4);
  if (name == "BartTokenizer" || name == "LongformerTokenizer" || name == "LEDTokenizer") {
    return "RobertaTokenizer";
  }
  if (name == "DistilBertTokenizer" || name == "ElectraTokenizer") return "BertTokenizer";
  return name;
}

}  // namespace

std::string chosen_class(const std::string& named, const std::string& model_type) {
  const auto type = std::ranges::find(kTypeClasses, model_type, &TypeClass::model_type);
  const bool is_known = type != kTypeClasses.end();
  if (is_known && type->overrides) return std::string(type->class_name);
  if (!named.empty()) return plain_name(named);
  return is_known ? std::string(type->class_name) : "";
}

const std::map<std::string, std::string>& usual_tokens(const std::string& class_name) {
  static const Tokens kNone;
  const auto found = tokens_by_class().find(class_name);
  return found == tokens_by_class().end() ? kNone : found->second;
}

ByteLevelClass byte_level_class(const std::string& class_name, bool adds_prefix_space,
                                const std::string& path) {
  Object bytes = {{"type", "ByteLevel"},
                  {"add_prefix_space", adds_prefix_space},
                  {"trim_offsets", true},
                  {"use_regex", class_name != "Qwen2Tokenizer"}};
  const Object composed = {{"type", "NFC"}};
  if (class_name == "Qwen2Tokenizer") {
    const Object split = {{"type", "Split"},
                          {"pattern", Object{{"Regex", kQwen2Expression}}},
                          {"behavior", "Isolated"},
                          {"invert", false}};
    return {composed,
            Object{{"type", "Sequence"}, {"pretokenizers", io::Json::Array{split, bytes}}}};
  }
  if (class_name == "GPTNeoXTokenizer") return {composed, bytes};
  if (class_name == "RobertaTokenizer") return {{}, bytes, true};
  if (class_name.empty() || class_name == kGenericClass || class_name == "GPT2Tokenizer" ||
      class_name == "CodeGenTokenizer") {
    return {{}, bytes};
  }
  refuse_tokenizer(path, "\"tokenizer_class\" " + io::in_quotes(class_name) +
                             " is not read from a vocabulary and merges, only GPT2Tokenizer, "
                             "CodeGenTokenizer, Qwen2Tokenizer, GPTNeoXTokenizer and "
                             "RobertaTokenizer; a tokenizer.json is needed, which transformers "
                             "writes with save_pretrained");
}

}  // namespace headlight::text
