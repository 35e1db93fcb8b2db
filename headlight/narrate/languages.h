// The languages that texts are there in: one file each, and nothing else knows of them.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "headlight/base/base.h"
#include "headlight/narrate/catalogue.h"

namespace headlight::narrate {

// The files of headlight/narrate/catalogue, "en.txt" ..., as they were when this was compiled.
const std::vector<base::EmbeddedFile>& catalogue_files();

// A file "xx.txt" is the language with the code xx, and says about itself:
//   language.name = English    what it calls itself
//   language.decimal = .       what stands before the decimals of a number
//   language.percent = {number}%   how a share is written
//   language.order = 1         where it stands among the others
// "formulas.txt" belongs to all of them. May be used from several threads.
class Languages {
 public:
  // Texts are read when they are first asked for; the files must stay. Throws Error(bad_input) for
  // a file without its order.
  explicit Languages(const std::vector<base::EmbeddedFile>& files);
  ~Languages();

  // In their order.
  const std::vector<std::string_view>& codes() const noexcept { return codes_; }
  // Throws Error(bad_input) for a code that is not among them.
  const Catalogue& catalogue(std::string_view code) const;

 private:
  struct Language;
  std::vector<std::unique_ptr<Language>> languages_;
  std::vector<std::string_view> codes_;
  std::string_view formulas_;
};

// Codes of the languages that come with Headlight, English first.
const std::vector<std::string_view>& languages();

}  // namespace headlight::narrate
