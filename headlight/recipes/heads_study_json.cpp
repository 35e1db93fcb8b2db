// A study as JSON.
#include <algorithm>

#include "headlight/recipes/heads_study.h"

namespace headlight::recipes {
namespace {

using io::Json;

Json study_measurement(const HeadsStudy& study, const heads::Measurement& measured) {
  return heads::measurement_json(measured, measured.metric ? study.metric : std::string());
}

Json studied_heads_json(const HeadsStudy& study) {
  Json::Array all;
  for (const StudiedHead& head : study.heads) {
    all.emplace_back(
        Json::Object{{"head", head.head.text()},
                     {"gradient", head.gradient},
                     {"ablation", head.ablation},
                     {"mean_ablation", head.mean_ablation},
                     {"attribution", head.attribution ? Json(*head.attribution) : Json()},
                     {"confidence", head.confidence},
                     {"without", study_measurement(study, head.without)},
                     {"alone", study_measurement(study, head.alone)}});
  }
  return all;
}

Json agreements_json(const HeadsStudy& study) {
  Json::Array all;
  for (const ScoreAgreement& one : study.agreements) {
    all.emplace_back(Json::Object{{"first", one.first},
                                  {"second", one.second},
                                  {"correlation", one.correlation},
                                  {"heads", one.heads}});
  }
  return all;
}

Json removable_json(const HeadsStudy& study) {
  Json::Array all;
  for (const heads::Curve& curve : study.curves) {
    all.emplace_back(Json::Object{
        {"method", name_of(curve.method)},
        {"type", curve.type},
        {"finetuned", curve.finetuned},
        {"share", heads::removable_share(curve, study.higher_is_better, study.tolerance)}});
  }
  return all;
}

Json equal_shapes_json(const HeadsStudy& study) {
  Json::Array all;
  for (const EqualShape& one : study.equal_shapes) {
    Json::Object left;
    for (const auto& [place, count] : one.left) left.emplace_back(place, count);
    all.emplace_back(Json::Object{{"kept_share", one.kept_share},
                                  {"heads", one.heads},
                                  {"left", std::move(left)},
                                  {"pruned", study_measurement(study, one.pruned)},
                                  {"finetuned", study_measurement(study, one.finetuned)},
                                  {"from_scratch", study_measurement(study, one.from_scratch)}});
  }
  return all;
}

}  // namespace

const heads::Curve* HeadsStudy::find(heads::PruneMethod method, const std::string& type,
                                     bool finetuned) const {
  const auto found = std::ranges::find_if(curves, [&](const heads::Curve& curve) {
    return curve.method == method && curve.type == type && curve.finetuned == finetuned;
  });
  return found == curves.end() ? nullptr : &*found;
}

Json::Object heads_study_json(const HeadsStudy& study) {
  const heads::CurveResult curves{.metric = study.metric,
                                  .higher_is_better = study.higher_is_better,
                                  .examples = study.examples,
                                  .curves = study.curves};
  Json::Object facts = heads::curves_json(curves);
  facts.emplace_back("tolerance", study.tolerance);
  facts.emplace_back("whole", study_measurement(study, study.whole));
  facts.emplace_back("heads", studied_heads_json(study));
  facts.emplace_back("agreements", agreements_json(study));
  facts.emplace_back("removable", removable_json(study));
  facts.emplace_back("equal_shapes", equal_shapes_json(study));
  return facts;
}

}  // namespace headlight::recipes
