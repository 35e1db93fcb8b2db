// The rules of the house, held against the house.
#include <gtest/gtest.h>

#include <string>

#include "headlight/models/models.h"
#include "tests/architecture/rules.h"
#include "tests/places.h"

namespace headlight::architecture {
namespace {

const Sources& house() {
  static const Sources sources = read_sources(tests::source_folder());
  return sources;
}

// Files that may be larger than the rule, each with its reason.
const std::vector<Exception> kLargeFiles = {};

void expect_none(const Findings& findings) {
  for (const std::string& finding : findings) ADD_FAILURE() << finding;
}

TEST(Architecture, has_sources_to_look_at) { EXPECT_GT(house().size(), 50u); }
TEST(Architecture, includes_point_downwards_and_through_doors) {
  expect_none(check_includes(house()));
}
TEST(Architecture, link_lines_say_what_include_lines_say) { expect_none(check_links(house())); }
TEST(Architecture, files_are_small) { expect_none(check_sizes(house(), kLargeFiles)); }
TEST(Architecture, programs_are_small_beside_the_library) { expect_none(check_programs(house())); }
TEST(Architecture, files_open_with_a_comment_and_headers_are_guarded) {
  expect_none(check_openings(house()));
}
TEST(Architecture, names_say_something_and_nothing_is_unfinished) {
  expect_none(check_words(house()));
}
TEST(Architecture, the_engine_does_not_print_exit_or_abort) { expect_none(check_silence(house())); }
TEST(Architecture, files_name_no_place_of_one_machine) { expect_none(check_paths(house())); }
TEST(Architecture, models_are_asked_what_they_can_do_and_not_what_they_are_called) {
  expect_none(check_model_types(house(), models::known_architectures().types()));
}

TEST(Architecture, insides_of_operations_are_known_in_one_place) {
  expect_none(check_fine_steps(house()));
}

}  // namespace
}  // namespace headlight::architecture
