// Where a build has put its sources and finds shared files: in one object, so that the tests
// themselves are compiled alike wherever a clone lies.
#pragma once

#include <string>

namespace headlight::tests {

std::string source_folder();
// Golden, conformance and data files; the folder may be absent.
std::string shared_folder();

}  // namespace headlight::tests
