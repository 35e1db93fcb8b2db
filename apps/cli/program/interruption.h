// Signals: an interrupted program ends with 128 + the signal's number and leaves no half-made file.
#pragma once

namespace headlight::cli {

// SIGINT ends the program with 130, SIGTERM with 143, unless who started it wants them ignored. A
// closed pipe is an error of the write and not a signal. Standard input, output and error are made
// to exist, so that no file we open takes their number.
void prepare_process();

// While one lives, the first signal waits; files are written under it. A second signal does not
// wait. One may live inside another.
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

}  // namespace headlight::cli
