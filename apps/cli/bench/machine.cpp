// What the kernel says of the processor.
#include "apps/cli/bench/machine.h"

#include <algorithm>
#include <fstream>

#include "headlight/kernels/kernels.h"

namespace headlight::cli {
namespace {

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

}  // namespace

std::string labelled(const std::string& label, const std::string& text, int64_t width) {
  constexpr size_t kLabelColumns = 9;
  const std::string lines = narrate::wrapped(text, width, std::string(kLabelColumns, ' '));
  return narrate::padded(label, kLabelColumns) +
         lines.substr(std::min(kLabelColumns, lines.size()));
}

std::string machine_text(const narrate::Catalogue& catalogue, int threads, int64_t width) {
  return labelled(catalogue.text("bench.machine"),
                  cpu_model() + ", " +
                      catalogue.text("bench.threads", {{"count", std::to_string(threads)}}) + ", " +
                      kernels::simd_target() + ", headlight " HEADLIGHT_VERSION,
                  width);
}

io::Json machine_json(int threads) {
  return io::Json::Object{{"cpu", cpu_model()},
                          {"cores", base::ThreadPool::available_cores()},
                          {"threads", threads},
                          {"simd", kernels::simd_target()}};
}

}  // namespace headlight::cli
