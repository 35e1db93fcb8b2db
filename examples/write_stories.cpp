// Writes little stories, the same ones every time: what the embedded model `stories` was trained
// on. Usage: example_write_stories [COUNT], to standard output.
#include <cstdio>
#include <cstdlib>

#include "headlight/recipes/recipes.h"

int main(int argc, char** argv) {
  const long count = argc > 1 ? std::atol(argv[1]) : 5;
  for (long number = 0; number < count; ++number)
    std::puts(headlight::recipes::little_story(static_cast<uint64_t>(number)).c_str());
  return count > 0 ? 0 : 1;
}
