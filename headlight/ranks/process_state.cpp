// Reading /proc.
#include "headlight/ranks/process_state.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <sstream>

namespace headlight::ranks {
namespace {

// Empty: there is no such file, or its process has ended. Nothing: that cannot be known.
std::optional<std::string> first_line(const std::string& path) {
  const auto text_if_gone = [] {
    return errno == ENOENT || errno == ESRCH ? std::optional<std::string>("") : std::nullopt;
  };
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return text_if_gone();
  std::array<char, 4096> text{};  // more than any line that is read here
  const ssize_t length = read(file, text.data(), text.size());
  const auto missing = length < 0 ? text_if_gone() : std::nullopt;
  close(file);
  if (length < 0) return missing;
  const std::string all(text.data(), static_cast<size_t>(length));
  return all.substr(0, all.find('\n'));
}

// This start of the system, and the numbers of processes that are valid here.
std::string own_kernel() {
  std::array<char, 64> numbers{};
  const ssize_t length = readlink("/proc/self/ns/pid", numbers.data(), numbers.size());
  const std::string start = first_line("/proc/sys/kernel/random/boot_id").value_or("");
  if (length <= 0 || start.empty()) return "";
  return start + "/" + std::string(numbers.data(), static_cast<size_t>(length));
}

struct Status {
  char state = 0;  // 0: there is no such process
  std::string start;
};
// Nothing: it cannot be known, as where this process has too many files open.
std::optional<Status> status_of(const std::string& process) {
  const auto line = first_line("/proc/" + process + "/stat");
  if (!line) return std::nullopt;
  const size_t name_end = line->rfind(')');  // a name may hold blanks and brackets
  if (name_end == std::string::npos) return Status{};
  std::istringstream words(line->substr(name_end + 1));
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
  const auto status = status_of(process);
  if (kernel.empty() || !status || status->start.empty()) return "";
  return kernel + " " + process + " " + status->start;
}

ProcessState state_of(const std::string& process) {
  static const std::string kernel = own_kernel();
  std::istringstream words(process);
  std::string its_kernel, number, start;
  if (!(words >> its_kernel >> number >> start) || its_kernel != kernel)
    return ProcessState::unknown;
  const auto status = status_of(number);
  if (!status) return ProcessState::unknown;
  if (status->start != start || status->state == 'Z' || status->state == 'X')
    return ProcessState::gone;
  const bool is_stopped = status->state == 'T' || status->state == 't';
  return is_stopped ? ProcessState::stopped : ProcessState::running;
}

}  // namespace headlight::ranks
