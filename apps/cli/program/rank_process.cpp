// Connecting, keeping quiet, and ending together.
#include "apps/cli/program/rank_process.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <thread>

#include "apps/cli/program/progress.h"
#include "apps/cli/program/terminal.h"
#include "headlight/kernels/kernels.h"
#include "headlight/text/text.h"
#include "headlight/train/train.h"

namespace headlight::cli {
namespace {

using base::Error;
using base::ErrorKind;

// A launcher that has lost two ranks kills the others: nobody goes before it is told.
constexpr std::chrono::milliseconds kTimeToTell{300};
// Who tells that a rank has gone stays for a while: others who look late must find it alive, or
// they would tell too.
constexpr std::chrono::milliseconds kTimeToBeSeen{1500};

void tell(int file, const std::string& line) {
  std::string rest = "headlight: " + text::printable(line) + "\n";
  while (!rest.empty()) {
    const ssize_t written = write(file, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;  // a launcher's signal
    if (written <= 0) return;
    rest.erase(0, static_cast<size_t>(written));
  }
}

// Who cannot be told notices by itself.
void send_notices(ranks::Link& link) {
  constexpr std::chrono::milliseconds kTimeToSend{200}, kTurn{1};
  const auto begin = std::chrono::steady_clock::now();
  try {
    while (!link.are_notices_sent() && std::chrono::steady_clock::now() - begin < kTimeToSend)
      std::this_thread::sleep_for(kTurn);
  } catch (const Error&) {
    return;
  }
}

// Learning rates are made of cosines and powers, which the system's library may compute by other
// instructions on another processor.
std::string mathematics_sum() {
  constexpr int kValues = 300;
  train::Checksum sum;
  for (int i = 1; i <= kValues; ++i) {
    const std::array<double, 3> values = {std::cos(0.0107 * i), std::pow(0.999, i),
                                          std::pow(i, -0.5)};
    sum.add(std::as_bytes(std::span(values)));
  }
  return sum.text();
}

}  // namespace

std::unique_ptr<RankProcess> RankProcess::start(const ranks::Launch& launch,
                                                std::chrono::duration<double> timeout) {
  std::unique_ptr<ranks::Link> link = ranks::load_mpi(launch);
  std::unique_ptr<RankProcess> process(new RankProcess);
  take_signal_of_launchers();
  process->signals_wait_.emplace();
  process->messenger_ = std::make_unique<ranks::Messenger>(
      std::move(link), process->messenger_options(launch, timeout));
  if (process->messenger_->count() != launch.count) {
    throw Error(ErrorKind::failed, "MPI", std::to_string(process->messenger_->count()) + " ranks",
                "the launcher has started " + std::to_string(launch.count) +
                    ": it belongs to another MPI than the program was built with; start it with "
                    "the mpirun of that one, or unset " +
                    launch.said_by + " where no launcher is meant");
  }
  process->silence();
  try {
    process->group_ = std::make_unique<ranks::Group>(*process->messenger_);
    process->messenger_->set_hosts(process->group_->gather(process->messenger_->host()));
    process->messenger_->set_processes(process->group_->gather(ranks::own_process()));
  } catch (const Error& error) {
    process->fail(error.what(), error.kind() == ErrorKind::usage ? 2 : 1);
  }
  return process;
}

ranks::MessengerOptions RankProcess::messenger_options(const ranks::Launch& launch,
                                                       std::chrono::duration<double> timeout) {
  const auto on_fault = [this](const ranks::Fault& fault, ranks::Link& link) {
    erase_progress();
    // At once: a launcher that has lost a rank does not wait long.
    if (fault.is_told_here && !fault.text.empty()) tell(errors_, fault.text);
    send_notices(link);
    if (!fault.is_told_here) std::this_thread::sleep_for(kTimeToTell);
    if (fault.is_told_here && !fault.have_all_answered) std::this_thread::sleep_for(kTimeToBeSeen);
    end_at_once(fault.exit_code);
  };
  // A signal that comes while things are saved only asks whether all are still there; SIGTERM does,
  // since launchers send it to the ranks that are left.
  const auto end_wish = [this]() -> std::optional<ranks::EndWish> {
    const int signal = waiting_signal();
    if (signal == 0 || (is_saving_ && signal != SIGTERM)) return std::nullopt;
    return ranks::EndWish{.ends = !is_saving_, .exit_code = exit_code_of(signal)};
  };
  const auto on_silence = [this](const std::string& text) {
    erase_progress();
    tell(errors_, text);
  };
  return {.on_fault = on_fault,
          .end_wish = end_wish,
          .on_silence = on_silence,
          .timeout = timeout,
          .launched_rank = launch.rank};
}

void RankProcess::silence() {
  if (messenger_->rank() == 0) return;
  errors_ = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (errors_ < 0 || nowhere < 0) return;
  dup2(nowhere, STDOUT_FILENO);
  dup2(nowhere, STDERR_FILENO);
  close(nowhere);
}

int RankProcess::default_threads() const {
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  const int share = std::max(1, cores / group_->ranks_here());
  // A launcher that binds ranks to the same cores shows them to each.
  return std::min(base::ThreadPool::available_cores(), share);
}

void RankProcess::check_same_program(base::FileSystem& files) {
  const std::string sum = train::file_sum(files, "/proc/self/exe");
  ranks::check_same(*group_,
                    {{.name = "the program",
                      .value = "headlight " HEADLIGHT_VERSION " (" + sum + ")",
                      .advice = "every machine needs the same build"},
                     {.name = "the instruction set",
                      .value = kernels::simd_target(),
                      .advice = "HEADLIGHT_SIMD limits it on all of them, e.g. to avx2"},
                     {.name = "the checksum of its cosines and powers",
                      .value = mathematics_sum(),
                      .advice = "every machine needs the same C library, and processors for which "
                                "it computes alike"}},
                    ErrorKind::failed);
}

// All is written and printed by now.
void RankProcess::leave() {
  if (!messenger_->leave()) end_at_once(0);
}

void RankProcess::leave_interrupted() {
  const double mine = waiting_signal();
  const std::vector<double> all = group_->gather(std::span(&mine, 1));
  const auto signal = static_cast<int>(*std::ranges::max_element(all));
  static_cast<void>(messenger_->leave(false));  // the end is the same
  end_at_once(signal == 0 ? 1 : exit_code_of(signal));
}

void RankProcess::fail(const std::string& line, int exit_code) {
  erase_progress();
  messenger_->fail(line, exit_code);
  end_at_once(exit_code);  // where another fault came first
}

}  // namespace headlight::cli
