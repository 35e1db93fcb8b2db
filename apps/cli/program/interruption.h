// Signals: an interrupted program ends with 128 + the signal's number and leaves no half-made file.
#pragma once

#include "headlight/recipes/recipes.h"

namespace headlight::cli {

// SIGINT ends the program with 130, SIGTERM with 143, SIGHUP (the terminal has gone) with 129,
// unless who started it wants them ignored, as nohup does. A closed pipe is an error of the write
// and not a signal. Standard input, output and error are made to exist, so that no file we open
// takes their number.
void prepare_process();

// While one lives, the first signal waits; files are written under it. A second SIGINT or SIGTERM
// does not wait, unless it comes within a second: then it is the same wish by another way, as
// `timeout` and shells that close send theirs twice. One may live inside another.
class Uninterrupted {
 public:
  Uninterrupted();
  ~Uninterrupted();
  Uninterrupted(const Uninterrupted&) = delete;
  Uninterrupted& operator=(const Uninterrupted&) = delete;

  // Whether a signal waits; the program then ends with it when the last of these goes, unless it
  // goes because of an error: what could not be saved is to be told.
  bool is_signalled() const;

 private:
  int exceptions_;
};

// Takes a SIGINT that waits: it was meant for what is under way alone, and the program goes on.
// Whether there was one.
bool take_interrupt();

// Ends the program now, without a half-made file. For any thread.
[[noreturn]] void end_at_once(int exit_code);
// Of a program that a signal has ended: 128 + its number. SIGUSR1, by which launchers pass on the
// wish to stop, counts as SIGINT.
int exit_code_of(int signal);
// Takes SIGUSR1 for SIGINT from now on, as launchers pass it on to all ranks.
void take_signal_of_launchers();

// Whether signals wait just now, and the one that does; 0: none.
bool are_signals_held();
int waiting_signal();

// The program's files. A signal that ends the program removes the file that is being made. To open
// or write what is no regular file may take forever, as with a pipe that nobody reads: no signal
// waits for that.
class InterruptibleFiles : public recipes::FilesWithEmbedded {
 public:
  int open(const std::string& path, int flags, unsigned permissions) override;
  int close(int file) override;
  int rename(const std::string& from, const std::string& to) override;
  int remove(const std::string& path) override;

 private:
  std::string half_made_;
  int direct_ = -1;  // what is written to without a temporary file
};

}  // namespace headlight::cli
