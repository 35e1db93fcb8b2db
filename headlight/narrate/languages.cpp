// Finding the languages among the files; reading a language once.
#include "headlight/narrate/languages.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <string>

#include "headlight/io/io.h"

namespace headlight::narrate {
namespace {

using base::Error;
using base::ErrorKind;

constexpr std::string_view kEnding = ".txt";
constexpr std::string_view kFormulas = "formulas.txt";

const Languages& embedded_languages() {
  static const Languages kLanguages(catalogue_files());
  return kLanguages;
}

// Whole files are only read when they are needed.
int64_t order_of(const base::EmbeddedFile& file) {
  constexpr std::string_view kLine = "\nlanguage.order = ";
  const bool is_first = file.bytes.starts_with(kLine.substr(1));
  const size_t found = is_first ? 0 : file.bytes.find(kLine);
  std::string_view value;
  if (found != std::string_view::npos) {
    value = file.bytes.substr(found + kLine.size() - (is_first ? 1 : 0));
    value = value.substr(0, value.find('\n'));
  }
  if (const auto order = io::parse_number<int64_t>(value)) return *order;
  throw Error(ErrorKind::bad_input, "catalogue", file.path, "has no number language.order");
}

}  // namespace

struct Languages::Language {
  std::string_view code;
  std::string_view text;
  int64_t order = 0;
  std::once_flag once = {};
  std::optional<Catalogue> catalogue = {};
};

Languages::Languages(const std::vector<base::EmbeddedFile>& files) {
  for (const base::EmbeddedFile& file : files) {
    if (file.path == kFormulas) {
      formulas_ = file.bytes;
    } else if (file.path.ends_with(kEnding)) {
      auto language = std::make_unique<Language>();
      language->code = file.path.substr(0, file.path.size() - kEnding.size());
      language->text = file.bytes;
      language->order = order_of(file);
      languages_.push_back(std::move(language));
    }
  }
  std::ranges::sort(languages_, [](const auto& a, const auto& b) {
    return a->order != b->order ? a->order < b->order : a->code < b->code;
  });
  for (const auto& language : languages_) codes_.push_back(language->code);
}

Languages::~Languages() = default;

const Catalogue& Languages::catalogue(std::string_view code) const {
  for (const auto& language : languages_) {
    if (language->code != code) continue;
    std::call_once(language->once, [&] {
      language->catalogue = Catalogue(code, {formulas_, language->text});
    });
    return *language->catalogue;
  }
  throw Error(ErrorKind::bad_input, "catalogue", std::string(code), "is no language of it");
}

const std::vector<std::string_view>& languages() { return embedded_languages().codes(); }

const Catalogue& Catalogue::of(std::string_view language) {
  return embedded_languages().catalogue(language);
}

}  // namespace headlight::narrate
