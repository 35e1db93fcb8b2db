// RankProcess: this process as one rank of several, started by a launcher such as mpirun. The first
// rank alone prints results; what goes wrong is told once, by the lowest living rank.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "apps/cli/program/interruption.h"
#include "headlight/ranks/ranks.h"

namespace headlight::cli {

class RankProcess {
 public:
  // Throws Error(failed) where MPI cannot be loaded or knows of fewer ranks than the launcher, and
  // Error(usage) for a number of ranks that is no power of two. From then on signals wait, and all
  // ranks but the first are silent. `timeout`: all have to come together within it.
  static std::unique_ptr<RankProcess> start(const ranks::Launch& launch,
                                            std::chrono::duration<double> timeout);

  ranks::Group& group() { return *group_; }
  ranks::Messenger& messenger() { return *messenger_; }

  // Of the cores that it may use, this rank's part where its machine has others too.
  int default_threads() const;

  // Throws Error(failed) unless all ranks run the same program with the same instruction set.
  void check_same_program(base::FileSystem& files);

  // While one lives, a signal to any rank does not end the ranks: who works saves, then leaves.
  class Saving {
   public:
    explicit Saving(RankProcess& process) : process_(process) { process_.is_saving_ = true; }
    ~Saving() { process_.is_saving_ = false; }
    Saving(const Saving&) = delete;
    Saving& operator=(const Saving&) = delete;

   private:
    RankProcess& process_;
  };

  // The three ways to end. All ranks are done, have saved after a signal to any of them, or cannot
  // go on.
  void leave();
  [[noreturn]] void leave_interrupted();
  [[noreturn]] void fail(const std::string& line, int exit_code);

 private:
  RankProcess() = default;
  ranks::MessengerOptions messenger_options(const ranks::Launch& launch,
                                            std::chrono::duration<double> timeout);
  void silence();

  std::optional<Uninterrupted> signals_wait_;
  std::atomic<bool> is_saving_{false};
  int errors_ = 2;  // where a fault is told
  std::unique_ptr<ranks::Messenger> messenger_;
  std::unique_ptr<ranks::Group> group_;
};

}  // namespace headlight::cli
