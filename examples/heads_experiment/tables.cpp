// Rows of numbers, each a function of a study.
#include "examples/heads_experiment/tables.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string_view>

namespace headlight {
namespace {

using heads::PruneMethod;
using recipes::HeadsStudy;
using Studies = std::vector<StudiedSeed>;

std::string number_text(double value, int decimals) {
  if (std::isnan(value)) return "–";
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  const bool is_zero = std::string_view(text).find_first_of("123456789") == std::string_view::npos;
  return text[0] == '-' && is_zero ? text + 1 : text;
}
std::string percent(double share, int decimals = 1) { return number_text(100 * share, decimals); }

class Table {
 public:
  using Number = std::function<double(const HeadsStudy&)>;
  Table(const Studies& studies, const std::string& title, const std::string& rows)
      : studies_(studies) {
    text_ = "## " + title + "\n\n| " + rows + " |";
    std::string line = "|---|";
    for (const StudiedSeed& one : studies) {
      text_ += " seed " + std::to_string(one.seed) + " |";
      line += "---:|";
    }
    text_ += (studies.size() > 1 ? " mean |\n" : "\n") + line;
    text_ += studies.size() > 1 ? "---:|\n" : "\n";
  }
  void add(const std::string& label, const Number& number, bool is_share = true) {
    double sum = 0;
    const auto cell = [&](double value) {
      return " " + (is_share ? percent(value) : number_text(value, 2)) + " |";
    };
    text_ += "| " + label + " |";
    for (const StudiedSeed& one : studies_) {
      text_ += cell(number(one.study));
      sum += number(one.study);
    }
    if (studies_.size() > 1) text_ += cell(sum / static_cast<double>(studies_.size()));
    text_ += "\n";
  }
  std::string text() const { return text_ + "\n"; }

 private:
  const Studies& studies_;
  std::string text_;
};

constexpr std::array kTypes = {"all", "encoder", "decoder", "cross"};

std::string agreement_table(const Studies& studies) {
  Table table(studies, "Rank correlation (Spearman)", "scores (heads)");
  for (size_t i = 0; i < studies.front().study.agreements.size(); ++i) {
    const recipes::ScoreAgreement& one = studies.front().study.agreements[i];
    table.add(
        one.first + " – " + one.second + " (" + std::to_string(one.heads) + ")",
        [i](const HeadsStudy& study) { return study.agreements[i].correlation; }, false);
  }
  return table.text();
}

std::string removable_table(const Studies& studies) {
  Table table(studies,
              "Share of heads, %, that can go at less than " +
                  percent(studies.front().study.tolerance) + " points of exact match",
              "type, order");
  for (const heads::Curve& curve : studies.front().study.curves) {
    const std::string name = curve.type + ", " + std::string(name_of(curve.method)) +
                             (curve.finetuned ? ", fine-tuned" : "");
    table.add(name, [&](const HeadsStudy& study) {
      const heads::Curve* same = study.find(curve.method, curve.type, curve.finetuned);
      return heads::removable_share(*same, study.higher_is_better, study.tolerance);
    });
  }
  return table.text();
}

std::string curve_table(const Studies& studies) {
  Table table(studies, "Exact match, %, by gradient order", "type, heads removed");
  for (const bool finetuned : {false, true}) {
    for (const char* type : kTypes) {
      const heads::Curve* curve =
          studies.front().study.find(PruneMethod::gradient, type, finetuned);
      if (curve == nullptr) continue;
      for (size_t i = 0; i < curve->points.size(); ++i) {
        table.add(std::string(type) + ", " + std::to_string(curve->points[i].heads) +
                      (finetuned ? ", fine-tuned" : ""),
                  [&, i](const HeadsStudy& study) {
                    return study.find(PruneMethod::gradient, type, finetuned)->points[i].quality;
                  });
      }
    }
  }
  return table.text();
}

std::string single_heads_table(const Studies& studies) {
  Table table(studies, "One head missing", "type");
  for (const char* type : kTypes) {
    const auto of_type = [type](const recipes::StudiedHead& head) {
      return std::string(type) == "all" || type_of_head(head.head) == type;
    };
    table.add(
        std::string(type) + ": heads that are missed by more",
        [&](const HeadsStudy& study) {
          return static_cast<double>(std::ranges::count_if(study.heads, [&](const auto& head) {
            return of_type(head) && study.missed(head.without) > study.tolerance;
          }));
        },
        false);
    table.add(std::string(type) + ": most that one is missed by, points",
              [&](const HeadsStudy& study) {
                double most = 0;
                for (const recipes::StudiedHead& head : study.heads)
                  if (of_type(head)) most = std::max(most, study.missed(head.without));
                return most;
              });
  }
  return table.text();
}

std::string alone_table(const Studies& studies) {
  Table table(studies, "All heads of an attention but its best one missing: points lost",
              "attention");
  std::vector<std::string> places;
  for (const recipes::StudiedHead& head : studies.front().study.heads)
    if (places.empty() || places.back() != head.head.place) places.push_back(head.head.place);
  for (const std::string& place : places) {
    table.add(place, [&](const HeadsStudy& study) {
      double least = 1;
      for (const recipes::StudiedHead& head : study.heads)
        if (head.head.place == place) least = std::min(least, study.missed(head.alone));
      return least;
    });
  }
  return table.text();
}

std::string equal_shape_table(const Studies& studies) {
  if (studies.front().study.equal_shapes.empty()) return {};
  Table table(studies, "Equal shape: exact match, %", "heads, model");
  for (size_t i = 0; i < studies.front().study.equal_shapes.size(); ++i) {
    const std::string heads = std::to_string(studies.front().study.equal_shapes[i].heads);
    const auto add = [&](const std::string& name, heads::Measurement recipes::EqualShape::*part) {
      table.add(heads + ", " + name, [i, part](const HeadsStudy& study) {
        return study.quality(study.equal_shapes[i].*part);
      });
    };
    add("pruned", &recipes::EqualShape::pruned);
    add("pruned and fine-tuned", &recipes::EqualShape::finetuned);
    add("from scratch", &recipes::EqualShape::from_scratch);
  }
  return table.text();
}

std::string left_table(const Studies& studies) {
  if (studies.front().study.equal_shapes.empty()) return {};
  Table table(studies, "Heads that are left of each attention", "heads, attention");
  for (size_t i = 0; i < studies.front().study.equal_shapes.size(); ++i) {
    const recipes::EqualShape& shape = studies.front().study.equal_shapes[i];
    for (size_t place = 0; place < shape.left.size(); ++place) {
      table.add(
          std::to_string(shape.heads) + ", " + shape.left[place].first,
          [i, place](const HeadsStudy& study) {
            return static_cast<double>(study.equal_shapes[i].left[place].second);
          },
          false);
    }
  }
  return table.text();
}

}  // namespace

std::string type_of_head(const heads::HeadName& head) {
  if (head.place.ends_with(".cross")) return "cross";
  return head.place.substr(0, head.place.find('.'));
}

std::string study_tables(const Studies& studies) {
  Table whole(studies, "The models as they are", "what");
  whole.add("exact match, %", [](const HeadsStudy& study) { return study.quality(study.whole); });
  return whole.text() + agreement_table(studies) + single_heads_table(studies) +
         alone_table(studies) + removable_table(studies) + curve_table(studies) +
         equal_shape_table(studies) + left_table(studies);
}

}  // namespace headlight
