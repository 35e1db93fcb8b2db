// One name, or several, for each of the ways there are.
#include "headlight/text/gguf_splitting.h"

#include <algorithm>
#include <array>

#include "headlight/text/vocabulary.h"

namespace headlight::text {
namespace {

using Object = io::Json::Object;

enum class Way {
  gpt2,     // GPT-2's expression
  digits,   // the same after each digit stands alone
  pattern,  // an expression of its own
};

// Contractions in any case, letters with what stands before them, up to three digits, marks.
constexpr std::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
// The same with single digits.
constexpr std::string_view kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
// Words end where small letters turn large.
constexpr std::string_view kTekken =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

struct Known {
  std::string_view name;
  Way way = Way::gpt2;
  std::string_view pattern = {};
  bool composes = false;  // letters and their accents are made one first (NFC)
  bool ignores_merges = false;
  bool adds_begin = false;
  bool hides_words = false;
};
constexpr std::array<Known, 21> kKnown = {
    {{.name = "gpt-2"},
     {.name = "phi-2"},
     {.name = "mpt", .composes = true},
     {.name = "olmo", .composes = true},
     {.name = "roberta-bpe", .hides_words = true},
     {.name = "modern-bert", .composes = true, .hides_words = true},
     {.name = "smollm", .way = Way::digits},
     {.name = "starcoder", .way = Way::digits},
     {.name = "refact", .way = Way::digits},
     {.name = "command-r", .way = Way::digits, .composes = true},
     {.name = "codeshell", .way = Way::digits},
     {.name = "llama3",
      .way = Way::pattern,
      .pattern = kLlama3,
      .ignores_merges = true,
      .adds_begin = true},
     {.name = "llama-v3",
      .way = Way::pattern,
      .pattern = kLlama3,
      .ignores_merges = true,
      .adds_begin = true},
     {.name = "llama-bpe",
      .way = Way::pattern,
      .pattern = kLlama3,
      .ignores_merges = true,
      .adds_begin = true},
     {.name = "falcon3",
      .way = Way::pattern,
      .pattern = kLlama3,
      .ignores_merges = true,
      .adds_begin = true},
     {.name = "dbrx", .way = Way::pattern, .pattern = kLlama3},
     {.name = "smaug-bpe", .way = Way::pattern, .pattern = kLlama3},
     {.name = "qwen2", .way = Way::pattern, .pattern = kQwen2, .composes = true},
     {.name = "deepseek-r1-qwen", .way = Way::pattern, .pattern = kQwen2},
     {.name = "stablelm2", .way = Way::pattern, .pattern = kQwen2},
     {.name = "tekken",
      .way = Way::pattern,
      .pattern = kTekken,
      .ignores_merges = true,
      .adds_begin = true}}};

Object byte_level(bool splits, bool adds_space) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", adds_space},
          {"trim_offsets", true},
          {"use_regex", splits}};
}

io::Json pre_tokenizer_of(const Known& known, bool adds_space) {
  if (known.way == Way::gpt2) return byte_level(true, adds_space);
  Object first = {{"type", "Digits"}, {"individual_digits", true}};
  if (known.way == Way::pattern) {
    first = {{"type", "Split"},
             {"pattern", Object{{"Regex", known.pattern}}},
             {"behavior", "Isolated"},
             {"invert", false}};
  }
  return Object{
      {"type", "Sequence"},
      {"pretokenizers", io::Json::Array{first, byte_level(known.way == Way::digits, adds_space)}}};
}

}  // namespace

GgufSplitting gguf_splitting(const std::string& splitting, bool adds_space,
                             const std::string& name) {
  const auto found = std::ranges::find(kKnown, splitting, &Known::name);
  if (found == kKnown.end()) {
    std::string all;
    for (const Known& one : kKnown) all.append(all.empty() ? "" : ", ").append(one.name);
    refuse_tokenizer(
        name, (splitting.empty() ? "tokenizer.ggml.pre is missing, which says how texts are split"
                                 : "tokenizer.ggml.pre is " + io::in_quotes(splitting)) +
                  "; known are " + all);
  }
  return {.normalizer = found->composes ? io::Json(Object{{"type", "NFC"}}) : io::Json(),
          .pre_tokenizer = pre_tokenizer_of(*found, adds_space),
          .ignores_merges = found->ignores_merges,
          .adds_begin = found->adds_begin,
          .hides_words = found->hides_words};
}

}  // namespace headlight::text
