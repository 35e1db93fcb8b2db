// A report as a page: its texts in all languages, its numbers, and pictures as they are drawn in
// each language.
#include "headlight/narrate/languages.h"
#include "headlight/narrate/page_document.h"
#include "headlight/narrate/page_values.h"
#include "headlight/narrate/report/report.h"
#include "headlight/narrate/report/report_numbers.h"
#include "headlight/narrate/report/report_svg.h"

namespace headlight::narrate {
namespace {

using io::Json;

// As much of what heads look at as a page can be sent and opened with at once.
constexpr int64_t kMostWeights = 500'000;

Json report_cell_json(const ReportCell& cell) {
  if (const auto* words = std::get_if<std::string>(&cell)) return visible(*words);
  if (const auto* word = std::get_if<ReportWord>(&cell))
    return Json::Object{{"name", word->name}, {"key", word->key}};
  const auto number = number_of(cell);
  return number ? Json(*number) : Json();
}

Json report_table_json(const ReportTable& table) {
  Json::Array columns, rows;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const ReportColumn& column = table.columns[i];
    Json::Object& one = *columns.emplace_back(Json::Object{}).object();
    one = {{"name", column.name},
           {"heading", report_text_json(column.heading)},
           {"is_number", !column_numbers(table, i).empty()},
           {"is_mapped", !column.only_in_files}};
    if (!column.meaning.empty()) one.emplace_back("meaning", report_text_json(column.meaning));
  }
  for (const std::vector<ReportCell>& row : table.rows) {
    Json::Array& cells = *rows.emplace_back(Json::Array{}).array();
    for (const ReportCell& cell : row) cells.push_back(report_cell_json(cell));
  }
  return Json::Object{{"name", table.name},
                      {"title", report_text_json(table.title)},
                      {"by_head", is_by_head(table)},
                      {"columns", std::move(columns)},
                      {"rows", std::move(rows)}};
}

Json token_labels(const std::vector<std::string>& tokens) {
  Json::Array labels;
  for (const std::string& token : tokens) labels.emplace_back(visible(token));
  return labels;
}

// Whole sentences as far as there is room.
std::string report_sentences_text(const Report& report) {
  int64_t room = kMostWeights;
  std::string all = "[";
  for (const ReportSentence& sentence : report.sentences) {
    for (const LookedAt& head : sentence.heads) room -= head.weights.elements();
    if (room < 0) break;
    std::string heads = "[";
    for (const LookedAt& head : sentence.heads) {
      heads += (heads.size() > 1 ? "," : "") +
               with_members(Json::Object{{"head", head.head},
                                         {"rows_are_source", head.rows_are_source},
                                         {"columns_are_source", head.columns_are_source}},
                            {{"weights", page_numbers(head.weights)}});
    }
    all += (all.size() > 1 ? "," : "") +
           with_members(Json::Object{{"tokens", token_labels(sentence.tokens)},
                                     {"source_tokens", token_labels(sentence.source_tokens)}},
                        {{"heads", heads + "]"}});
  }
  return all + "]";
}

Json pictures_json(const Report& report) {
  Json::Array pictures;
  for (const ReportPicture& picture : report.pictures) {
    Json::Object languages_of_one;
    for (const std::string_view language : languages()) {
      const Catalogue& catalogue = Catalogue::of(language);
      languages_of_one.emplace_back(
          std::string(language),
          svg_document({draw_picture(picture, catalogue)}, report.title.in(catalogue),
                       report.summary.in(catalogue)));
    }
    pictures.emplace_back(std::move(languages_of_one));
  }
  return pictures;
}

// The column whose map is drawn first; a page begins with it too.
std::string first_mapped(const Report& report) {
  for (const ReportPicture& picture : report.pictures) {
    const auto* map = std::get_if<MatrixPicture>(&picture);
    if (map == nullptr) continue;
    for (const ReportTable& table : report.tables) {
      for (const ReportColumn& column : table.columns) {
        if (is_by_head(table) && column.heading.key == map->legend.key) return column.name;
      }
    }
  }
  return "";
}

}  // namespace

void write_report_page(base::Output& output, const Report& report, const std::string& language) {
  Json::Array notes, tables, next;
  for (const ReportText& note : report.notes) notes.push_back(report_text_json(note));
  for (const ReportTable& table : report.tables) tables.push_back(report_table_json(table));
  for (const ReportCommand& one : report.next) {
    next.emplace_back(
        Json::Object{{"command", visible(one.command)}, {"what", report_text_json(one.what)}});
  }
  const std::string told_report =
      with_members(Json::Object{{"name", report.name},
                                {"title", report_text_json(report.title)},
                                {"summary", report_text_json(report.summary)},
                                {"notes", std::move(notes)},
                                {"next", std::move(next)},
                                {"tables", std::move(tables)},
                                {"first_mapped", first_mapped(report)},
                                {"pictures", pictures_json(report)}},
                   {{"sentences", report_sentences_text(report)}});
  const std::string data = with_members(Json::Object{{"language", language},
                                                     {"version", HEADLIGHT_VERSION},
                                                     {"runs", Json::Array{}},
                                                     {"texts", page_texts({}, PageKind::report)}},
                                        {{"report", told_report}});
  write_page(output, data);
}

}  // namespace headlight::narrate
