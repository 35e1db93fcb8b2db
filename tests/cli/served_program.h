// ServedProgram: `headlight serve` as a process of its own, and requests to it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "headlight/io/io.h"
#include "tests/base/temporary_folder.h"
#include "tests/cli/program.h"

namespace headlight::test {

// A socket that is connected to a port of this machine, or -1.
int connected_to(int port);
// The whole answer to a request, with its head; empty where nobody listens.
std::string http_answer(int port, const std::string& path, const std::string& headers = "");
// "POST /api/jobs HTTP/1.1 ..." with a body of JSON, on a connection that is closed afterwards.
std::string http_request(int port, const std::string& method, const std::string& path,
                         const std::string& body = "");
std::string http_exchange(int port, const std::string& request);
// What stands after the head.
io::Json json_in(const std::string& answer);

class ServedProgram : public testing::Test {
 protected:
  // Runs until it is told to end; its output is in a file of ours.
  std::unique_ptr<Program> started(std::vector<std::string> words);
  int port() const;

  TemporaryFolder folder_;
};

}  // namespace headlight::test
