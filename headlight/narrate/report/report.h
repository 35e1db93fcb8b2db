// Report: one experiment on heads as data: what was measured, its tables, its pictures and what
// heads look at. From it come text for a terminal, CSV, SVG and a page, in any language.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "headlight/base/base.h"
#include "headlight/narrate/report/report_text.h"
#include "headlight/narrate/text_layout.h"
#include "headlight/tensor/tensor.h"

namespace headlight::narrate {

// One of a few words: a name for programs and a text for people.
struct ReportWord {
  std::string name;  // "previous"
  std::string key;   // "role.previous"
};
// Nothing, where a model cannot have the number; a number that is not finite counts as nothing.
using ReportCell = std::variant<std::monostate, double, int64_t, std::string, ReportWord>;
std::optional<double> number_of(const ReportCell& cell);
std::optional<double> finite_or_nothing(double value);
template <class T>
ReportCell cell_or_nothing(const std::optional<T>& value) {
  return value ? ReportCell(*value) : ReportCell();
}

struct ReportColumn {
  std::string name;    // for programs, as in JSON: "gradient_signed"
  ReportText heading;  // for people
  ReportText meaning = {};
  bool only_in_files = false;  // no terminal shows it, no map of heads is shaded by it
};

// The column "head", where there is one, has public names of heads.
struct ReportTable {
  std::string name;  // for programs: "heads"
  ReportText title;
  std::vector<ReportColumn> columns;
  std::vector<std::vector<ReportCell>> rows = {};  // each as long as the columns
  // A terminal shows the first so many, and says how many there are; 0: all.
  size_t shown_rows = 0;
  bool in_csv = true;  // false: an excerpt for people
  bool in_terminal = true;
};

// Rows and columns of numbers as shaded cells. A cell without a number is one that there is not.
struct MatrixPicture {
  ReportText title;
  ReportText row_title = {};
  ReportText column_title = {};
  std::vector<ReportText> rows = {};
  std::vector<ReportText> columns = {};
  std::vector<std::optional<double>> values = {};  // row by row
  ReportText legend = {};                          // what the numbers are
};

struct ReportRange {
  double low = 0;
  double high = 0;
};

struct BarPicture {
  struct Bar {
    ReportText label;
    double value = 0;
    std::optional<ReportRange> range = {};  // to compare with
  };
  ReportText title;
  ReportText axis;
  std::vector<Bar> bars = {};
  ReportText range_label = {};
};

struct LinePicture {
  struct Point {
    double x = 0;
    double y = 0;
  };
  struct Line {
    ReportText label;
    std::vector<Point> points = {};
  };
  // The area between two lines.
  struct Band {
    ReportText label;
    std::vector<double> x = {};
    std::vector<ReportRange> range = {};
    std::optional<size_t> line = {};  // whose ink it has; none: one of its own
  };
  ReportText title;
  ReportText x_axis = {};
  ReportText y_axis = {};
  std::vector<Line> lines = {};
  std::vector<Band> bands = {};
  std::optional<ReportRange> y_range = {};  // shown at least: pictures that are compared share it
};

struct ScatterPicture {
  struct Point {
    double x = 0;
    double y = 0;
    std::optional<ReportRange> range = {};  // of y
    std::string label = {};
  };
  struct Group {
    ReportText label;
    std::vector<Point> points = {};
  };
  ReportText title;
  ReportText x_axis = {};
  ReportText y_axis = {};
  std::vector<Group> groups = {};
  ReportText diagonal = {};  // what the line x = y means; empty: there is none
};

using ReportPicture = std::variant<MatrixPicture, BarPicture, LinePicture, ScatterPicture>;

// What heads look at in one sentence.
struct LookedAt {
  std::string head;        // "decoder.0.self.3"
  tensor::Tensor weights;  // float32, (T, S), contiguous
  bool rows_are_source = false;
  bool columns_are_source = false;
};
struct ReportSentence {
  std::vector<std::string> tokens = {};
  std::vector<std::string> source_tokens = {};  // what an encoder-decoder translates
  std::vector<LookedAt> heads = {};
};

// What to type next, and what it does.
struct ReportCommand {
  std::string command;
  ReportText what;
};

struct Report {
  std::string name;    // of the experiment: "score"
  ReportText title;    // what it is
  ReportText summary;  // what came out, in one sentence with its numbers
  std::vector<ReportText> notes = {};
  std::vector<ReportTable> tables = {};
  std::vector<ReportPicture> pictures = {};
  std::vector<ReportSentence> sentences = {};
  std::vector<ReportCommand> next = {};
};

// Layers and heads shaded by a column of a table with heads; a head that is not there is one that
// the model does not have.
MatrixPicture heads_map(const ReportTable& table, std::string_view column);
// Whether numbers of a table can be shown on such a map: each row is another head.
bool is_by_head(const ReportTable& table);
// "decoder.0.self" and 3 of "decoder.0.self.3".
struct HeadPlace {
  std::string place;
  int64_t head = 0;
};
HeadPlace place_of_head(const std::string& name);

// For a terminal, in lines of at most the style's width (40 or more).
std::string report_text(const Report& report, const TextStyle& style, const Catalogue& catalogue);
// RFC 4180, with the columns' names and decimal points; where there are several tables, a first
// column says which. Texts that a spreadsheet would take for a formula have ' before them.
std::string report_csv(const Report& report);
// One field of such a file.
std::string csv_text(const std::string& text);
// All pictures in one drawing without scripts, for print and screen.
std::string report_svg(const Report& report, const Catalogue& catalogue);

// One file that needs nothing else, in all languages; it opens in this one. Throws what the output
// throws.
void write_report_page(base::Output& output, const Report& report, const std::string& language);

}  // namespace headlight::narrate
