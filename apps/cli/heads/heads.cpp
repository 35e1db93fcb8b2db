// `headlight heads`: experiments on the heads of a model, a command for each.
#include "apps/cli/heads/experiment.h"

namespace headlight::cli {
namespace {

constexpr std::string_view kHeadsExamples =
    R"(  headlight heads score numbers
      what each head does and what it is worth
  headlight heads ablate numbers --html heads.html
      what is lost without each, as a page with a map of the heads
  headlight heads attribute stories --prompt "Tom has lost a red coin." --word " He"
      where the logit of a word comes from
  headlight heads prune numbers --keep 0.5 --by gradient --finetune 200 --out half
      a model without half of its heads; then: headlight heads bench numbers half
  headlight heads COMMAND --help
      what a command can do, examples first

Heads have names such as decoder.0.self.3: side, layer, kind of attention, number.
Under mpirun -n 2, 4, ... all but bench run on as many ranks, to the same bytes;
attribute, gates and the fine-tuning of prune are done by the first rank alone.
)";

constexpr std::array kHeadsParts = {&kHeadsScore,     &kHeadsAblate, &kHeadsFind,
                                    &kHeadsAttribute, &kHeadsPatch,  &kHeadsGates,
                                    &kHeadsPrune,     &kHeadsCurve,  &kHeadsBench};

}  // namespace

const Command kHeads = {.name = "heads",
                        .summary = "what heads do, what each is worth, and models without some",
                        .examples = kHeadsExamples,
                        .options = {},
                        .run = nullptr,
                        .parts = kHeadsParts};

}  // namespace headlight::cli
