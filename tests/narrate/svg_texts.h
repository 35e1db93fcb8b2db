// Texts of drawings: where they lie, by the widths that drawings count with.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "headlight/narrate/narrate.h"
#include "headlight/narrate/report/report_svg.h"

namespace headlight::narrate {

// The value of an attribute of an element; empty where it has none.
inline std::string svg_attribute(const std::string& element, const std::string& name) {
  const std::string begin = " " + name + "=\"";
  const size_t at = element.find(begin);
  if (at == std::string::npos) return "";
  const size_t first = at + begin.size();
  return element.substr(first, element.find('"', first) - first);
}

// As it is read: each entity is one letter.
inline std::string svg_words(const std::string& element) {
  const size_t begin = element.find('>') + 1;
  std::string words = element.substr(begin, element.rfind("</text>") - begin);
  for (size_t at = words.find('&'); at != std::string::npos; at = words.find('&', at + 1))
    words.replace(at, words.find(';', at) + 1 - at, "x");
  return words;
}

// Every text of a picture, an element in each line, lies within it.
inline void expect_texts_inside(const SvgPicture& picture) {
  constexpr double kSlack = 2;
  for (size_t begin = 0; begin < picture.body.size();) {
    const size_t end = std::min(picture.body.find('\n', begin), picture.body.size());
    const std::string element = picture.body.substr(begin, end - begin);
    begin = end + 1;
    if (!element.starts_with("<text ")) continue;
    const double x = std::stod(svg_attribute(element, "x"));
    const double y = std::stod(svg_attribute(element, "y"));
    const double size = std::stod(svg_attribute(element, "font-size"));
    const std::string anchor = svg_attribute(element, "text-anchor");
    const std::string words = svg_words(element);
    const double length = SvgCanvas::text_width(words, size);
    const double before = anchor == "end" ? length : anchor == "middle" ? length / 2 : 0;
    const bool is_turned = element.find(" transform=\"rotate(-90") != std::string::npos;
    // A turned text goes upwards, its letters to the left of its line.
    const double left = is_turned ? x - 0.8 * size : x - before;
    const double right = is_turned ? x + 0.2 * size : x - before + length;
    const double top = is_turned ? y + before - length : y - 0.8 * size;
    const double bottom = is_turned ? y + before : y + 0.2 * size;
    EXPECT_GE(left, -kSlack) << words;
    EXPECT_GE(top, -kSlack) << words;
    EXPECT_LE(right, picture.width + kSlack) << words;
    EXPECT_LE(bottom, picture.height + kSlack) << words;
  }
}

// The same of all pictures of a report, in every language.
inline void expect_texts_inside(const Report& report) {
  for (const std::string_view language : languages()) {
    for (const ReportPicture& picture : report.pictures) {
      SCOPED_TRACE(report.name + " " + std::string(language));
      expect_texts_inside(draw_picture(picture, Catalogue::of(language)));
    }
  }
}

}  // namespace headlight::narrate
