// A training whose steps take long is never silent at a terminal: before its first line, before its
// first step, and after Ctrl-C.
#include <gtest/gtest.h>

#include "headlight/narrate/narrate.h"
#include "tests/cli/terminal.h"
#include "tests/cli/train_runs.h"

namespace headlight::test {
namespace {

// Whose first step takes minutes.
Words slow_copy(const std::string& folder) {
  return small_copy(folder) + Words{"--gradient_accumulation_steps", "1000000"};
}

TEST(ASlowTraining, says_that_it_is_at_its_first_step_and_that_it_will_stop) {
  for (const std::string language : {"en", "tr", "az", "ko"}) {
    SCOPED_TRACE(language);
    const TemporaryFolder folder;
    const narrate::Catalogue& catalogue = narrate::Catalogue::of(language);
    Terminal terminal(slow_copy(folder / "run") + Words{"--lang", language}, {.columns = 40});
    EXPECT_TRUE(terminal.wait_for(catalogue.text("command.progress.first_step") + " …"))
        << terminal.screen().text();
    terminal.type("\x03");
    EXPECT_TRUE(terminal.wait_for(catalogue.text("command.train.stopping") + " …"))
        << terminal.screen().text();
    EXPECT_EQ(terminal.screen().broken_lines(), Words{}) << terminal.screen().text();
    // The second one does not wait for the step, and nothing of the line is left.
    terminal.watch(std::chrono::milliseconds(1100));
    terminal.type("\x03");
    EXPECT_EQ(terminal.finish(), 130);
    EXPECT_EQ(terminal.screen().text().find(catalogue.text("command.train.stopping")),
              std::string::npos)
        << terminal.screen().text();
  }
}

TEST(ASlowTraining, is_silent_where_nobody_looks) {
  const TemporaryFolder folder;
  Terminal terminal(slow_copy(folder / "run") + Words{"--quiet"});
  terminal.watch(std::chrono::milliseconds(3000));
  terminal.type("\x03");
  terminal.watch(std::chrono::milliseconds(1100));
  terminal.type("\x03");
  EXPECT_EQ(terminal.finish(), 130);
  EXPECT_EQ(terminal.bytes().find("irst"), std::string::npos) << terminal.bytes();
}

}  // namespace
}  // namespace headlight::test
