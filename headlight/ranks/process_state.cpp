// Reading /proc.
#include "headlight/ranks/process_state.h"

#include <unistd.h>

#include <array>
#include <fstream>
#include <sstream>

namespace headlight::ranks {
namespace {

// One that has ended or was never there gives an empty line.
std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// This start of the system, and the numbers of processes that are valid here.
std::string own_kernel() {
  std::array<char, 64> numbers{};
  const ssize_t length = readlink("/proc/self/ns/pid", numbers.data(), numbers.size());
  const std::string start = first_line("/proc/sys/kernel/random/boot_id");
  if (length <= 0 || start.empty()) return "";
  return start + "/" + std::string(numbers.data(), static_cast<size_t>(length));
}

struct Status {
  char state = 0;  // 0: there is no such process
  std::string start;
};
Status status_of(const std::string& process) {
  const std::string line = first_line("/proc/" + process + "/stat");
  const size_t name_end = line.rfind(')');  // a name may hold blanks and brackets
  if (name_end == std::string::npos) return {};
  std::istringstream words(line.substr(name_end + 1));
  constexpr int kBetween = 18;  // numbers between the state and the start
  Status status;
  words >> status.state;
  std::string word;
  for (int i = 0; i < kBetween; ++i) words >> word;
  words >> status.start;
  return status;
}

}  // namespace

std::string own_process() {
  const std::string kernel = own_kernel();
  const std::string process = std::to_string(getpid());
  const Status status = status_of(process);
  if (kernel.empty() || status.start.empty()) return "";
  return kernel + " " + process + " " + status.start;
}

ProcessState state_of(const std::string& process) {
  static const std::string kernel = own_kernel();
  std::istringstream words(process);
  std::string its_kernel, number, start;
  if (!(words >> its_kernel >> number >> start) || its_kernel != kernel)
    return ProcessState::unknown;
  const Status status = status_of(number);
  if (status.start != start || status.state == 'Z' || status.state == 'X')
    return ProcessState::gone;
  return status.state == 'T' || status.state == 't' ? ProcessState::stopped : ProcessState::running;
}

}  // namespace headlight::ranks
