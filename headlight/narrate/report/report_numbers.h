// How numbers of a report are written: those of a column or a picture alike.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headlight/narrate/catalogue.h"
#include "headlight/narrate/report/report.h"

namespace headlight::narrate {

// With so many decimals that the largest has `digits` that count; or as 1.2e-05, where all are
// small or one is very large.
struct ReportNumberFormat {
  int decimals = 0;
  bool scientific = false;

  std::string text(const Catalogue& catalogue, double value) const;
};
ReportNumberFormat report_format(std::span<const double> values, int digits = 3);

// The finite numbers of a column.
std::vector<double> column_numbers(const ReportTable& table, size_t column);
// A cell for people.
std::string cell_text(const ReportCell& cell, const ReportNumberFormat& format,
                      const Catalogue& catalogue);

}  // namespace headlight::narrate
