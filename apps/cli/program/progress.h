// What is told at a terminal of work that takes a while: a line on standard error that replaces
// itself and leaves nothing behind.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "apps/cli/program/program.h"
#include "headlight/narrate/narrate.h"

namespace headlight::cli {

// A text of the catalogue in the session's language.
std::string command_text(const Session& session, std::string_view key,
                         const std::vector<narrate::Placeholder>& values = {});
// The same as lines on standard error, wrapped where that is a terminal.
void say_line(const Session& session, std::string_view key,
              const std::vector<narrate::Placeholder>& values = {});
// Before standard input is read: what is waited for, when somebody sits at both ends.
void say_what_is_awaited(const Session& session, std::string_view key);

// A line that the next one replaces, of fewer columns than the terminal has; an empty one takes it
// away. Only for a terminal. The cursor waits at its beginning, so that nothing is left of it when
// the terminal is made narrower and breaks it.
void show_progress(std::string_view line);
// Takes the line away where there is one. May be called by a signal handler.
void erase_progress() noexcept;
// These lines in the place of that one and of whatever else stands on its row, as the ^C that a
// terminal writes there.
void replace_row(const Session& session, const std::vector<std::string>& lines);

// A text at the end of which somebody types. While one lives, a signal that ends the program ends
// the row too, so that what comes next begins on its own.
class TypingRow {
 public:
  explicit TypingRow(std::string_view text);
  ~TypingRow();
  TypingRow(const TypingRow&) = delete;
  TypingRow& operator=(const TypingRow&) = delete;
};
// May be called by a signal handler.
void end_typing_row() noexcept;

// Work that may take longer than a second: from then on it is told, with how far it is where that
// is known. Silent unless somebody reads standard error at a terminal. Nothing else is printed
// while one lives.
class Progress {
 public:
  // `what`: "Reading stories".
  Progress(const Session& session, std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // From 0 to 1. From any thread.
  void reached(double share);
  void now(std::string what);
  // Other work begins, and is told when it too takes longer than a second; none where the name is
  // empty. What is shown of the last one stays until something takes its place.
  void restart(std::string what);
  // From the moment that a signal waits, this is told instead, and at once.
  void when_signalled(std::string what);

 private:
  struct Ticking;
  std::unique_ptr<Ticking> ticking_;  // none where nothing is told
};

// Work in blocks, whose results are printed in between: told within each block, or over all of them
// where what is read and printed goes past the terminal.
class BlockProgress {
 public:
  BlockProgress(const Session& session, std::string what);

  void begin_block();
  void reached(double share);  // of the block
  void end_block();

 private:
  const Session& session_;
  std::string what_;
  bool is_over_all_;
  std::optional<Progress> progress_;
};

}  // namespace headlight::cli
