// What pages are put together from: the built script and style, the texts that their runs need, and
// the document around their data; and the studio's page, which has its data from a server.
#pragma once

#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headlight/explain/explain.h"

namespace headlight::narrate {

// The built page; made by cmake/HeadlightEmbed.cmake from studio/dist.
const std::vector<base::EmbeddedFile>& page_files();

enum class PageKind { walk, lesson, report };

// What the runs of a page are made of: it explains these and nothing else.
struct PageContent {
  std::set<std::string> operations = {};
  std::set<std::string> formulas = {};
  std::set<std::string> texts = {};  // of tensors, without their layers
  bool encodes_only = false;         // there is no decoder
  // "cell.term.product": what the rules of the operations speak of.
  std::set<std::string> rule_keys = {"cell.term.product", "cell.combination.one",
                                     "cell.combination.nothing"};

  void add(const explain::Trace& trace);
};

// {"en": {"key": "text", ...}, ...}: in every language what a page of this kind may show.
io::Json page_texts(const PageContent& content, PageKind kind);

// An object with more members, whose text is already there.
std::string with_members(
    const io::Json& object,
    std::initializer_list<std::pair<std::string_view, std::string_view>> members);

// The page around its data, one JSON document. Throws what the output throws.
void write_page(base::Output& output, const std::string& data);

// The studio, as a server sends it.
struct StudioFile {
  std::string_view path;  // of the request: "/", "/studio.js"
  std::string_view content_type;
  std::string_view bytes;
  std::string_view gzipped;  // the same for Content-Encoding: gzip
};
const std::vector<StudioFile>& studio_files();

}  // namespace headlight::narrate
