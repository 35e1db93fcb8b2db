// Every test program begins here.
#include <gtest/gtest.h>

#include "tests/places.h"

namespace headlight::tests {

std::string source_folder() { return HEADLIGHT_SOURCE_DIR; }
std::string shared_folder() { return HEADLIGHT_SHARED_DIR; }

}  // namespace headlight::tests

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
