// Curves and ranks as SVG, by what narrate draws reports with.
#include "examples/heads_experiment/pictures.h"

#include <algorithm>
#include <array>
#include <optional>

#include "headlight/narrate/narrate.h"

namespace headlight {
namespace {

using heads::PruneMethod;
using narrate::in_these_words;
using Studies = std::vector<StudiedSeed>;

narrate::LinePicture curve_picture(const std::string& title,
                                   const std::vector<const heads::Curve*>& curves, bool by_type) {
  narrate::LinePicture picture{.title = in_these_words(title),
                               .x_axis = in_these_words("share of heads removed"),
                               .y_axis = in_these_words("exact match")};
  for (const heads::Curve* curve : curves) {
    const std::string name = by_type ? curve->type : std::string(name_of(curve->method));
    narrate::LinePicture::Line line{.label = in_these_words(name)};
    narrate::LinePicture::Band band{
        .label = in_these_words(std::to_string(curve->orders) + " random orders")};
    for (const heads::CurvePoint& point : curve->points) {
      line.points.push_back({point.removed, point.quality});
      band.x.push_back(point.removed);
      band.range.push_back({point.low, point.high});
    }
    picture.lines.push_back(std::move(line));
    if (curve->orders > 1) picture.bands.push_back(std::move(band));
  }
  return picture;
}

// Of all heads by method, or of types by gradient.
std::vector<narrate::ReportPicture> curve_pictures(const Studies& studies, bool by_type) {
  std::vector<narrate::ReportPicture> pictures;
  for (const bool finetuned : {false, true}) {
    for (const StudiedSeed& one : studies) {
      std::vector<const heads::Curve*> curves;
      for (const heads::Curve& curve : one.study.curves) {
        if (curve.finetuned != finetuned || (curve.type == "all") == by_type) continue;
        if (!by_type || curve.method == PruneMethod::gradient) curves.push_back(&curve);
      }
      const std::string title =
          "seed " + std::to_string(one.seed) + (finetuned ? ", after fine-tuning" : "");
      if (!curves.empty()) pictures.emplace_back(curve_picture(title, curves, by_type));
    }
  }
  return pictures;
}

// From 0, the least, to 1.
std::vector<double> relative_ranks(const std::vector<double>& values) {
  std::vector<double> ranks;
  for (const double value : values) {
    const auto below = std::ranges::count_if(values, [&](double other) { return other < value; });
    ranks.push_back(static_cast<double>(below) / static_cast<double>(values.size() - 1));
  }
  return ranks;
}

struct NamedScore {
  std::string name;
  std::optional<double> (*of)(const recipes::StudiedHead& head);
};

narrate::ScatterPicture rank_picture(const Studies& studies, const NamedScore& first,
                                     const NamedScore& second) {
  // The one that some pictures have not is last: so each type keeps its colour.
  constexpr std::array<std::string_view, 3> kTypes = {"decoder", "cross", "encoder"};
  narrate::ScatterPicture picture{.title = in_these_words(first.name + " and " + second.name),
                                  .x_axis = in_these_words("rank by " + first.name),
                                  .y_axis = in_these_words("rank by " + second.name)};
  for (const std::string_view type : kTypes)
    picture.groups.push_back({.label = in_these_words(std::string(type))});
  for (const StudiedSeed& one : studies) {
    std::vector<double> x, y;
    std::vector<heads::HeadName> names;
    for (const recipes::StudiedHead& head : one.study.heads) {
      if (!first.of(head) || !second.of(head)) continue;
      x.push_back(*first.of(head));
      y.push_back(*second.of(head));
      names.push_back(head.head);
    }
    x = relative_ranks(x);
    y = relative_ranks(y);
    for (size_t i = 0; i < names.size(); ++i) {
      const auto type = std::ranges::find(kTypes, type_of_head(names[i])) - kTypes.begin();
      picture.groups[static_cast<size_t>(type)].points.push_back(
          {.x = x[i], .y = y[i], .label = names[i].text()});
    }
  }
  std::erase_if(picture.groups, [](const auto& group) { return group.points.empty(); });
  return picture;
}

std::string drawing(const std::string& title, std::vector<narrate::ReportPicture> pictures) {
  const narrate::Report report{.name = "heads",
                               .title = in_these_words(title),
                               .summary = {},
                               .pictures = std::move(pictures)};
  const narrate::Languages languages(narrate::catalogue_files());
  return narrate::report_svg(report, languages.catalogue("en"));
}

}  // namespace

std::vector<NamedDrawing> study_drawings(const Studies& studies) {
  using Head = recipes::StudiedHead;
  const NamedScore gradient{"gradient",
                            [](const Head& head) { return std::optional(head.gradient); }};
  const NamedScore ablation{"ablation",
                            [](const Head& head) { return std::optional(head.ablation); }};
  const NamedScore attribution{"attribution", [](const Head& head) { return head.attribution; }};
  return {{"methods.svg",
           drawing("Exact match against heads removed, by order", curve_pictures(studies, false))},
          {"types.svg",
           drawing("Exact match against heads removed, by type", curve_pictures(studies, true))},
          {"ranks.svg", drawing("Ranks of heads by several scores",
                                {rank_picture(studies, gradient, ablation),
                                 rank_picture(studies, gradient, attribution),
                                 rank_picture(studies, ablation, attribution)})}};
}

}  // namespace headlight
