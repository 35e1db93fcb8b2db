// Any bytes as the body of each of the studio's routes: an order, or one HttpError that is a 400.
// The first byte chooses the route.
#include <cstdlib>

#include "apps/server/http/http.h"
#include "apps/server/studio/check_order.h"
#include "apps/server/studio/compare_order.h"
#include "apps/server/studio/job_order.h"
#include "apps/server/studio/predict_order.h"
#include "apps/server/studio/trace_order.h"

namespace {

using namespace headlight::server;

void read_body(int route, const std::string& body) {
  switch (route) {
    case 0:
      studio::read_trace_order(body);
      return;
    case 1:
      studio::read_predict_order(body);
      return;
    case 2:
      studio::read_job_order(body, [](const std::string& id) { return id; });
      return;
    case 3:
      studio::read_check_order(body);
      return;
    default:
      studio::read_compare_order(body);
      return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string body(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    read_body(data[0] % 5, body);
  } catch (const HttpError& error) {
    if (error.fields().status != 400 || error.fields().message.empty()) std::abort();
  }
  return 0;
}
