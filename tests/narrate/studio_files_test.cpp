// The files of the studio's page, as a server sends them.
#include <gtest/gtest.h>

#include <algorithm>

#include "headlight/narrate/narrate.h"

namespace headlight::narrate {
namespace {

std::string_view studio_file(std::string_view path) {
  const auto found = std::ranges::find(studio_files(), path, &StudioFile::path);
  return found == studio_files().end() ? std::string_view() : found->bytes;
}

// The last four bytes of a gzip file say how long its content is, the lowest first.
size_t size_inside(std::string_view gzipped) {
  size_t size = 0;
  for (size_t i = 0; i < 4; ++i)
    size |= static_cast<size_t>(static_cast<unsigned char>(gzipped[gzipped.size() - 4 + i]))
            << (8 * i);
  return size;
}

TEST(StudioFiles, have_content_that_is_also_compressed) {
  ASSERT_EQ(studio_files().size(), 4U);
  for (const StudioFile& one : studio_files()) {
    EXPECT_FALSE(one.content_type.empty()) << one.path;
    ASSERT_GT(one.gzipped.size(), 20U) << one.path;
    EXPECT_EQ(one.gzipped.substr(0, 2), "\x1f\x8b") << one.path;
    EXPECT_EQ(size_inside(one.gzipped), one.bytes.size()) << one.path;
  }
}

TEST(StudioFiles, ask_for_each_other_and_for_nothing_else) {
  const std::string_view page = studio_file("/");
  for (const char* path : {"/studio.js", "/studio.css", "/icon.svg"}) {
    EXPECT_NE(page.find(std::string("\"") + path + "\""), page.npos) << path;
    EXPECT_FALSE(studio_file(path).empty()) << path;
  }
  EXPECT_EQ(page.find("<script>"), page.npos);
  EXPECT_EQ(page.find("<style"), page.npos);
  for (const char* path : {"/", "/studio.js", "/studio.css"}) {
    EXPECT_EQ(studio_file(path).find("https://"), page.npos) << path;
    EXPECT_EQ(studio_file(path).find("url("), page.npos) << path;
  }
}

}  // namespace
}  // namespace headlight::narrate
