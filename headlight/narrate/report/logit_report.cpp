// What adds up to a logit, what each layer would say, and which heads carry a difference.
#include <algorithm>
#include <cmath>

#include "headlight/narrate/report/heads_reports.h"
#include "headlight/narrate/report/report_parts.h"

namespace headlight::narrate {
namespace {

constexpr size_t kShownParts = 24;
constexpr size_t kShownPlaces = 24;

// "thrones", or "thrones" − "dragons".
std::string asked_for(const recipes::TypedWord& word,
                      const std::optional<recipes::TypedWord>& against) {
  const std::string asked = io::in_quotes(word.token);
  return against ? asked + " − " + io::in_quotes(against->token) : asked;
}

// Which token a typed word stands for, where one could think of another.
void note_tokens(Report& report, const recipes::TypedWord& word) {
  const std::string typed = io::in_quotes(word.text);
  if (word.after_space) {
    report.notes.push_back(told("experiment.after_space",
                                {{"word", typed}, {"spaced", io::in_quotes(*word.after_space)}}));
  } else if (word.tokens > 1) {
    report.notes.push_back(
        told("experiment.first_token", {{"word", typed},
                                        {"token", io::in_quotes(word.token)},
                                        {"tokens", std::to_string(word.tokens)}}));
  }
}

ReportTable parts_table(const heads::Attribution& attribution) {
  ReportTable table{.name = "parts",
                    .title = told("experiment.attribute.table"),
                    .columns = report_columns({"part", "kind", "value"}),
                    .rows = {},
                    .shown_rows = kShownParts};
  std::vector<heads::AttributedPart> parts = attribution.parts;
  std::ranges::stable_sort(parts, std::ranges::greater(),
                           [](const heads::AttributedPart& part) { return std::fabs(part.value); });
  for (const heads::AttributedPart& part : parts) {
    const std::string kind(name_of(part.kind));
    table.rows.push_back({part.part, ReportWord{kind, "experiment.part." + kind}, part.value});
  }
  return table;
}

// The heads alone, so that they can be shown on a map.
ReportTable head_parts_table(const heads::Attribution& attribution) {
  ReportTable table{.name = "heads",
                    .title = told("experiment.attribute.heads"),
                    .columns = report_columns({"head", "value"}),
                    .rows = {},
                    .shown_rows = kShownParts,
                    .in_csv = false};
  for (const heads::AttributedPart& part : attribution.parts) {
    if (part.kind == heads::PartKind::head) table.rows.push_back({part.part, part.value});
  }
  return table;
}

BarPicture parts_picture(const ReportTable& table) {
  BarPicture bars{.title = told("experiment.attribute.table"),
                  .axis = told("experiment.column.value"),
                  .bars = {}};
  for (const std::vector<ReportCell>& row : table.rows) {
    if (bars.bars.size() == kShownParts) break;
    bars.bars.push_back({in_these_words(std::get<std::string>(row[0])), std::get<double>(row[2])});
  }
  return bars;
}

void add_lens(Report& report, const recipes::AttributeAnswer& answer,
              const text::Tokenizer* tokenizer) {
  const auto label = [&](int64_t id) {
    return tokenizer == nullptr ? std::to_string(id) : text::label_of(*tokenizer, id);
  };
  ReportTable table{.name = "lens",
                    .title = told("experiment.lens.table"),
                    .columns = report_columns({"layer", "likeliest", "likeliest_probability",
                                               "probability", "rank", "logit"}),
                    .rows = {}};
  LinePicture::Line word{in_these_words(answer.word.token), {}};
  LinePicture::Line against{in_these_words(answer.against ? answer.against->token : std::string()),
                            {}};
  if (answer.against) table.columns.push_back(report_column("against_probability"));
  for (const heads::LensLayer& layer : answer.lens->layers) {
    std::vector<ReportCell> row = {
        layer.stream,
        layer.words.empty() ? "" : label(layer.words.front().id),
        layer.words.empty() ? ReportCell() : ReportCell(layer.words.front().probability),
        layer.word.probability,
        layer.word.rank,
        layer.word.logit};
    const auto at = static_cast<double>(table.rows.size());
    word.points.push_back({at, layer.word.probability});
    if (layer.against) {
      row.emplace_back(layer.against->probability);
      against.points.push_back({at, layer.against->probability});
    }
    table.rows.push_back(std::move(row));
  }
  LinePicture picture{.title = told("experiment.lens.table"),
                      .x_axis = told("experiment.lens.layers"),
                      .y_axis = told("experiment.column.probability"),
                      .lines = {std::move(word)}};
  if (answer.against) picture.lines.push_back(std::move(against));
  report.tables.push_back(std::move(table));
  report.pictures.emplace_back(std::move(picture));
}

// How much a patch did: how far it took the run from where it was without it.
double effect_of(const heads::Patching& patching, double restored) {
  const bool was_corrupt = patching.direction == heads::PatchDirection::clean_into_corrupt;
  return std::fabs(was_corrupt ? restored : restored - 1);
}

// Heads that matter anywhere, with all their places.
MatrixPicture places_picture(const recipes::PatchAnswer& answer) {
  constexpr size_t kMostHeads = 20;
  const heads::Patching& patching = answer.patching;
  std::vector<std::pair<double, std::string>> strongest;
  for (const heads::PatchedHead& place : patching.places) {
    const double size = effect_of(patching, place.restored);
    const auto found =
        std::ranges::find(strongest, place.head, &std::pair<double, std::string>::second);
    if (found == strongest.end()) {
      strongest.emplace_back(size, place.head);
    } else {
      found->first = std::max(found->first, size);
    }
  }
  std::ranges::stable_sort(strongest, std::ranges::greater(),
                           &std::pair<double, std::string>::first);
  if (strongest.size() > kMostHeads) strongest.resize(kMostHeads);
  const std::vector<std::string>& tokens = answer.clean.tokens;
  const std::vector<std::string>& source = answer.clean.source_tokens;
  const size_t positions = std::max(tokens.size(), source.size());
  MatrixPicture picture{.title = told("experiment.patch.places"),
                        .row_title = told("experiment.axis.head"),
                        .column_title = told("experiment.column.position"),
                        .legend = told("experiment.column.restored")};
  for (size_t i = 0; i < positions; ++i) {
    // An encoder-decoder has two sentences: positions are then numbers alone.
    picture.columns.push_back(
        in_these_words(source.empty() ? std::to_string(i) + " " + tokens[i] : std::to_string(i)));
  }
  for (const auto& [size, head] : strongest) {
    picture.rows.push_back(in_these_words(head));
    std::vector<std::optional<double>> row(positions);
    for (const heads::PatchedHead& place : patching.places) {
      if (place.head == head && place.position)
        row.at(static_cast<size_t>(*place.position)) = finite_or_nothing(place.restored);
    }
    picture.values.insert(picture.values.end(), row.begin(), row.end());
  }
  return picture;
}

ScatterPicture estimate_picture(const heads::Patching& patching) {
  ScatterPicture picture{.title = told("experiment.patch.estimates"),
                         .x_axis = told("experiment.column.restored"),
                         .y_axis = told("experiment.column.estimated"),
                         .groups = {{told("experiment.patch.places"), {}}},
                         .diagonal = told("experiment.patch.equal")};
  for (const heads::PatchedHead& place : patching.places) {
    picture.groups[0].points.push_back(
        {place.restored, place.estimated, std::nullopt,
         place.head + (place.position ? " @ " + std::to_string(*place.position) : "")});
  }
  return picture;
}

ReportTable whole_heads_table(const heads::Patching& patching) {
  ReportTable table{.name = "heads",
                    .title = told("experiment.patch.table"),
                    .columns = report_columns({"head", "restored", "estimated"}),
                    .rows = {},
                    .shown_rows = kShownParts};
  for (const heads::PatchedHead& head : patching.heads)
    table.rows.push_back({head.head, head.restored, head.estimated});
  std::ranges::stable_sort(table.rows, std::ranges::greater(), [&](const auto& row) {
    return effect_of(patching, std::get<double>(row[1]));
  });
  return table;
}

ReportTable places_table(const recipes::PatchAnswer& answer) {
  ReportTable table{
      .name = "places",
      .title = told("experiment.patch.places"),
      .columns = report_columns({"head", "position", "token", "restored", "estimated"}),
      .rows = {},
      .shown_rows = kShownPlaces};
  for (const heads::PatchedHead& place : answer.patching.places) {
    const bool is_source =
        place.head.starts_with("encoder.") && !answer.clean.source_tokens.empty();
    const auto& tokens = is_source ? answer.clean.source_tokens : answer.clean.tokens;
    const int64_t position = place.position.value_or(0);
    table.rows.push_back({place.head, position, tokens.at(static_cast<size_t>(position)),
                          place.restored, place.estimated});
  }
  std::ranges::stable_sort(table.rows, std::ranges::greater(), [&](const auto& row) {
    return effect_of(answer.patching, std::get<double>(row[3]));
  });
  return table;
}

}  // namespace

Report attribution_report(const recipes::AttributeAnswer& answer, const std::string& model,
                          const text::Tokenizer* tokenizer) {
  const heads::Attribution& attribution = answer.attribution;
  Report report{.name = "attribute",
                .title = told("experiment.attribute.title",
                              {{"word", asked_for(answer.word, answer.against)}, {"model", model}}),
                .summary = told("experiment.attribute.summary",
                                {{"position", std::to_string(answer.prompt.position)},
                                 {"measured", ReportNumber{attribution.measured, 6}},
                                 {"parts", std::to_string(attribution.parts.size())},
                                 {"sum", ReportNumber{attribution.sum, 6}},
                                 {"rounding", ReportNumber{attribution.rounding, 2}}}),
                .tables = {parts_table(attribution)}};
  report.pictures.emplace_back(parts_picture(report.tables[0]));
  ReportTable heads = head_parts_table(attribution);
  if (!heads.rows.empty()) {
    report.pictures.emplace_back(heads_map(heads, "value"));
    report.tables.push_back(std::move(heads));
  }
  note_tokens(report, answer.word);
  if (answer.against) note_tokens(report, *answer.against);
  for (const heads::ActivationGain& gain : attribution.gains)
    report.notes.push_back(told("experiment.attribute.gain", {{"activation", gain.activation}}));
  if (answer.lens) add_lens(report, answer, tokenizer);
  return report;
}

Report patching_report(const recipes::PatchAnswer& answer, const std::string& model) {
  const heads::Patching& patching = answer.patching;
  const std::string direction(name_of(patching.direction));
  Report report{.name = "patch",
                .title = told("experiment.patch.title",
                              {{"word", asked_for(answer.word, answer.against)}, {"model", model}}),
                .summary = {},
                .notes = {told("experiment.patch." + direction)},
                .tables = {whole_heads_table(patching), places_table(answer)}};
  const std::vector<ReportCell>& best = report.tables[0].rows.front();
  const bool restores = patching.direction == heads::PatchDirection::clean_into_corrupt;
  report.summary = told(restores ? "experiment.patch.summary" : "experiment.patch.summary_left",
                        {{"clean", ReportNumber{patching.clean}},
                         {"corrupt", ReportNumber{patching.corrupt}},
                         {"best", std::get<std::string>(best[0])},
                         {"restored", ReportNumber{std::get<double>(best[1]), 3}},
                         {"correlation", ReportNumber{patching.correlation, 3}}});
  report.pictures = heads_maps(report.tables[0], {"restored"});
  report.pictures.emplace_back(places_picture(answer));
  report.pictures.emplace_back(estimate_picture(patching));
  note_tokens(report, answer.word);
  if (answer.against) note_tokens(report, *answer.against);
  return report;
}

}  // namespace headlight::narrate
