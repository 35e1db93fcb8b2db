// A report with every kind of cell and picture, for its documents.
#pragma once

#include <cmath>
#include <string>

#include "headlight/narrate/narrate.h"

namespace headlight::narrate {

inline constexpr const char* kHostile = "</script><script>alert(1)</script>&<b>\"'\x1b[31m\n\t";

// Every kind of cell and picture, with texts that mean harm.
inline Report small_report(const std::string& token = "word") {
  Report report{
      .name = "score",
      .title = told("experiment.page.heads"),
      .summary = told("experiment.more_rows", {{"shown", token}, {"all", ReportNumber{1234.5}}})};
  report.notes = {in_these_words(token), told("experiment.empty")};
  ReportTable table{.name = "heads",
                    .title = told("experiment.page.heads"),
                    .columns = {{"head", told("experiment.axis.head")},
                                {"gradient", in_these_words("gradient"), in_these_words("meaning")},
                                {"copying", in_these_words("copying")},
                                {"role", told("label.role")},
                                {"token", in_these_words("token")}},
                    .rows = {}};
  for (int layer = 0; layer < 3; ++layer) {
    for (int head = 0; head < 4; ++head) {
      if (layer == 1 && head == 2) continue;  // pruned
      table.rows.push_back({"decoder." + std::to_string(layer) + ".self." + std::to_string(head),
                            0.25 * layer - 0.1 * head,
                            head == 0 ? ReportCell() : ReportCell(1e-7 * head),
                            ReportWord{"previous", "role.previous"}, token});
    }
  }
  report.pictures = {
      heads_map(table, "gradient"),
      BarPicture{.title = in_these_words("bars"),
                 .axis = in_these_words(token),
                 .bars = {{in_these_words(token), 0.5, ReportRange{0.1, 0.2}},
                          {in_these_words("two"), -0.25}},
                 .range_label = in_these_words("chance")},
      LinePicture{.title = in_these_words("lines"),
                  .x_axis = in_these_words("share"),
                  .y_axis = in_these_words("quality"),
                  .lines = {{in_these_words(token), {{0, 1}, {0.5, 0.75}, {1, NAN}}},
                            {in_these_words("b"), {{0, 1}, {0.5, 0.25}}}},
                  .bands = {{in_these_words("random"), {0, 0.5}, {{0.9, 1.0}, {0.1, 0.6}}}}},
      ScatterPicture{.title = in_these_words("points"),
                     .x_axis = in_these_words("bound"),
                     .y_axis = in_these_words("measured"),
                     .groups = {{in_these_words("a"), {{1.5, 1.4, ReportRange{1.3, 1.5}, token}}}},
                     .diagonal = in_these_words("all is saved")}};
  report.tables.push_back(std::move(table));
  report.sentences = {
      {.tokens = {token, "b"},
       .source_tokens = {},
       .heads = {
           {"decoder.0.self.1", tensor::Tensor::of({2, 2}, {1, 0, 0.25F, 0.75F}), false, false}}}};
  report.next = {{"headlight info half", told("experiment.next.info")}};
  return report;
}

inline std::string hostile_token() {
  return std::string(kHostile) + std::string(1, '\0') + "\xff\xe2\x80\xae";
}

}  // namespace headlight::narrate
