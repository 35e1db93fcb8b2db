// What the tests of recipes share: errors of every kind.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "headlight/recipes/recipes.h"
#include "tests/base/temporary_folder.h"
#include "tests/models/support.h"

namespace headlight::recipes {

using base::ErrorKind;
using models::expect_has;
using models::same_bits;
using test::TemporaryFolder;

struct Refusal {
  std::optional<ErrorKind> kind;  // none: nothing was refused
  std::string text;
};

template <class Call>
Refusal refusal_of(const Call& call) {
  try {
    call();
  } catch (const base::Error& error) {
    return {error.kind(), error.what()};
  }
  return {};
}

template <class Call>
void expect_refused(ErrorKind kind, const Call& call, const std::string& text) {
  const Refusal refusal = refusal_of(call);
  ASSERT_TRUE(refusal.kind) << "nothing was refused, not " << text;
  EXPECT_EQ(*refusal.kind, kind) << refusal.text;
  expect_has(refusal.text, text);
}

}  // namespace headlight::recipes
