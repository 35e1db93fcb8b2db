// Formulas and titles of tensors that explain names by keys.
#include "tests/narrate/support.h"

namespace headlight::narrate {
namespace {

using explain::Trace;
using Formulas = NarrateTest;

TEST_F(Formulas, of_variants_say_what_was_computed) {
  Trace trace = worked_trace();
  const Catalogue& catalogue = Catalogue::of("en");
  const std::tuple<const char*, const char*, const char*, const char*> cases[] = {
      {"encoder.0.self", "scale.width", ".scaled_scores", "S / C"},
      {"encoder.0.self", "scale.sqrt_width", ".scaled_scores", "S / √C"},
      {"encoder.0.self", "scale.none", ".scaled_scores", "S"},
      {"encoder.0.norm_1", "deviation.sample", ".deviation", "σ = √((1/(C−1)) Σ (x − μ)² + ε)"},
      {"encoder.0.norm_1", "epsilon.outside", ".deviation", "σ = √((1/C) Σ (x − μ)²) + ε"},
      {"encoder.0.norm_1", "norm.pre", ".residual", "x + Sublayer(LayerNorm(x))"},
      {"logits", "prediction.flattened", "", "z = [x_1 … x_T] [W; …; W]"},
  };
  add_variants(trace, *worked_.back().model);
  for (const auto& [place, key, tensor, formula] : cases) {
    const std::string name = std::string("variant.") + key + "." + place + tensor;
    EXPECT_EQ(catalogue.formula(trace.at(name)), formula) << name;
  }
  EXPECT_EQ(catalogue.formula(trace.at("encoder.0.self.scaled_scores")), "S / √D");
}

TEST_F(Formulas, of_all_variants_are_in_the_catalogue) {
  Trace trace = worked_trace();
  for (const explain::Variant& variant : add_variants(trace, *worked_.back().model)) {
    EXPECT_TRUE(Catalogue::of("en").has("formula." + variant.formula)) << variant.key;
  }
}

}  // namespace
}  // namespace headlight::narrate
