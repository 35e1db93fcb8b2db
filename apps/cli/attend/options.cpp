// The table of options, and what may and may not stand together.
#include "apps/cli/attend/options.h"

#include <array>
#include <limits>

#include "apps/cli/program/places.h"
#include "headlight/base/base.h"
#include "headlight/io/io.h"

namespace headlight::cli {
namespace {

using base::Error;
using base::ErrorKind;

constexpr Option kAttendTable[] = {
    {"query", "FILE", "queries, (T,C), (B,T,C) or already split (B,H,T,D); needed"},
    {"key", "FILE", "keys (default: the query)"},
    {"value", "FILE", "values (default: the key)"},
    {"heads", "N", "query heads (default: 1; a 4-D query has its own)"},
    {"kv-heads", "N", "key/value heads that groups of query heads share (default: heads)"},
    {"weights", "FILE[:PREFIX]", "run the whole module with these parameters (.safetensors)"},
    {"layout", "NAME", "their layout: auto, fused, gpt2, d2l, named or torch (default: auto)"},
    {"causal", "", "query i sees keys j <= i + past"},
    {"past", "P", "keys before the first query: a number, a list 3,-2 or a file (B,)"},
    {"window", "W", "query i sees keys with |i + past - j| < W"},
    {"valid-lens", "L", "keys that count: a list 3,2 or a file (B,) or (B,T)"},
    {"keep-mask", "FILE", "true: may attend; (T,S), (B,T,S) or (B,H,T,S), any axis may be 1"},
    {"forbid-mask", "FILE", "true: may not attend; shaped like --keep-mask"},
    {"bias", "FILE", "added to the scores before the masks; shaped like --keep-mask"},
    {"scale", "S", "factor of the scores (default: 1/sqrt(D))"},
    {"softcap", "C", "scores s become C*tanh(s/C); 0 is none"},
    {"scoring", "dot|additive", "additive: w_v tanh(W_q q + W_k k), one head, needs --weights"},
    {"head-gates", "FILE", "factors of the heads' outputs, (H,) or (B,H)"},
    {"out", "FILE", "write the output, with the query's rank"},
    {"trace", "FILE", "write every intermediate (.safetensors)"},
    {"grad-out", "FILE", "gradient of the output, to go back from"},
    {"grads", "FILE", "write the gradients of sum(output * grad-out) (.safetensors)"},
};

constexpr int64_t kMostHeads = 1'000'000;

std::optional<IntegersOrPlace> integers_or_place(const Arguments& arguments,
                                                 std::string_view option, Range<int64_t> range) {
  const auto text = arguments.text(option);
  if (!text) return std::nullopt;
  if (io::is_array_place(*text)) return *text;
  return integers_of(arguments.source(option), *text, range);
}

std::optional<nn::AttentionLayout> layout_of(const Arguments& arguments) {
  std::vector<std::string_view> names = {"auto"};
  for (const nn::AttentionLayout layout : nn::attention_layouts()) names.push_back(name_of(layout));
  return nn::attention_layout(arguments.choice("layout", names));
}

void settle_additive(Arguments& arguments) {
  require_other(arguments, "scoring", "weights",
                "which holds W_q.weight, W_k.weight and w_v.weight");
  for (const char* option : {"scale", "softcap", "layout"}) {
    exclude(arguments, option, "scoring", "has no meaning with --scoring additive");
  }
  for (const char* option : {"heads", "kv-heads"}) {
    const std::string heads = arguments.text(option).value_or("1");
    if (heads == "1") continue;
    exclude(arguments, option, "scoring", "is " + heads + ", additive scoring has one head");
  }
}

// Which of the options count.
void settle_attend_options(Arguments& arguments) {
  if (!arguments.has("query")) {
    throw Error(ErrorKind::usage, "--query", "",
                "is missing: a file of queries, e.g. `headlight attend --query x.npy`");
  }
  require_other(arguments, "grads", "grad-out", "the gradient of the output to go back from");
  require_other(arguments, "grad-out", "grads", "where the gradients go");
  require_other(arguments, "layout", "weights", "whose layout it is");
  if (arguments.text("scoring") == "additive") settle_additive(arguments);
}

void check_head_counts(const Arguments& arguments, const AttendOptions& options) {
  if (!options.heads || !options.kv_heads || *options.heads % *options.kv_heads == 0) return;
  throw Error(ErrorKind::usage, arguments.source("kv-heads"), std::to_string(*options.kv_heads),
              "must divide the " + std::to_string(*options.heads) + " heads");
}

}  // namespace

constinit const std::span<const Option> kAttendOptions = kAttendTable;

AttendOptions read_attend_options(Arguments& arguments) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  constexpr std::array<std::string_view, 2> kScorings = {"dot", "additive"};
  settle_attend_options(arguments);
  AttendOptions options;
  options.query = array_place(arguments, "query").value_or("");
  options.key = array_place(arguments, "key");
  options.value = array_place(arguments, "value");
  options.heads = arguments.integer("heads", {1, kMostHeads});
  options.kv_heads = arguments.integer("kv-heads", {1, kMostHeads});
  options.weights = arguments.text("weights");
  options.layout = layout_of(arguments);
  options.additive = arguments.choice("scoring", kScorings) == "additive";
  options.causal = arguments.has("causal");
  options.window = arguments.integer("window", {1, kPastRange.highest}).value_or(0);
  options.past = integers_or_place(arguments, "past", kPastRange);
  options.valid_lens =
      integers_or_place(arguments, "valid-lens", {0, std::numeric_limits<int64_t>::max()});
  options.keep_mask = array_place(arguments, "keep-mask");
  options.forbid_mask = array_place(arguments, "forbid-mask");
  options.bias = array_place(arguments, "bias");
  options.head_gates = array_place(arguments, "head-gates");
  if (const auto scale = arguments.real("scale", {-kLargest, kLargest})) {
    options.scale = static_cast<float>(*scale);
  }
  options.softcap = static_cast<float>(arguments.real("softcap", {0, kLargest}).value_or(0));
  options.out = array_place(arguments, "out");
  options.trace = safetensors_path(arguments, "trace");
  options.grad_out = array_place(arguments, "grad-out");
  options.grads = safetensors_path(arguments, "grads");
  check_head_counts(arguments, options);
  return options;
}

}  // namespace headlight::cli
