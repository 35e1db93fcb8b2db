// read(2), once or until the end; blocks of whole lines.
#include "apps/cli/program/input.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "apps/cli/program/progress.h"
#include "headlight/io/io.h"
#include "headlight/narrate/narrate.h"

namespace headlight::cli {
namespace {

[[noreturn]] void refuse_input(const std::string& why) {
  throw base::Error(base::ErrorKind::bad_input, "standard input", "", why);
}

// What has come, waiting for a first byte; nothing at the end.
std::string read_some_of_standard_input() {
  std::array<char, 1 << 16> buffer;
  for (;;) {
    const ssize_t count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (count >= 0) return {buffer.data(), static_cast<size_t>(count)};
    if (errno == EAGAIN) {
      pollfd wait{STDIN_FILENO, POLLIN, 0};
      poll(&wait, 1, -1);
    } else if (errno != EINTR) {
      refuse_input(strerrordesc_np(errno));
    }
  }
}

void check_input_size(size_t bytes) {
  constexpr size_t kLimit = size_t{1} << 30;
  if (bytes > kLimit) refuse_input("more than " + base::memory_text(kLimit));
}

}  // namespace

std::string read_standard_input() {
  std::string text;
  for (;;) {
    const std::string more = read_some_of_standard_input();
    if (more.empty()) return text;
    text += more;
    check_input_size(text.size());
  }
}

TextLines::TextLines(const Session& session) : session_(session), name_("standard input") {
  Arguments& arguments = session.arguments;
  exclude(arguments, "encoding", "text");
  encoding_ = arguments.text("encoding").value_or("");
  if (const auto text = arguments.text("text")) {
    name_ = arguments.source("text");
    waiting_ = *text;
    is_at_end_ = true;
    is_empty_text_ = text->empty();
  }
}

// Whole lines, or the rest at the end. Lines of other encodings are not told apart by a byte.
std::string TextLines::next_text() {
  if (!is_at_end_ && !has_asked_) say_what_is_awaited(session_, "command.waits.lines");
  has_asked_ = true;
  if (!encoding_.empty() && !is_at_end_) {
    is_at_end_ = true;
    waiting_ = read_standard_input();
  }
  size_t end = waiting_.rfind('\n');
  if (end != std::string::npos) ++end;
  while (!is_at_end_ && end == std::string::npos) {
    const std::string more = read_some_of_standard_input();
    is_at_end_ = more.empty();
    const size_t last = more.rfind('\n');
    if (last != std::string::npos) end = waiting_.size() + last + 1;
    waiting_ += more;
    check_input_size(waiting_.size());
  }
  std::string text = waiting_.substr(0, end);
  waiting_.erase(0, text.size());
  return text;
}

std::vector<std::string> TextLines::next() {
  first_line_ = next_line_;
  if (is_empty_text_) {
    is_empty_text_ = false;
    return {""};
  }
  std::string bytes = next_text();
  if (encoding_.empty()) {
    // Lines before the first that is wrong get their answer; it comes back, as the first.
    const size_t valid = io::valid_utf8_length(bytes);
    const size_t line = valid == bytes.size() ? valid : bytes.rfind('\n', valid) + 1;
    if (line > 0) {
      waiting_.insert(0, bytes, line);
      bytes.resize(line);
    }
  }
  const std::string text = text::to_utf8(std::move(bytes), place(0), encoding_);
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const bool has_return = end > begin && end < text.size() && text[end - 1] == '\r';
    lines.push_back(text.substr(begin, end - begin - (has_return ? 1 : 0)));
    begin = end + 1;
  }
  next_line_ += lines.size();
  return lines;
}

std::string TextLines::place(size_t index) const {
  return name_ + ", line " + std::to_string(first_line_ + index);
}

std::optional<std::string> TypedLines::next() {
  std::string line;
  for (;;) {
    const size_t end = waiting_.find('\n');
    const size_t taken = std::min(end, waiting_.size());
    line.append(waiting_, 0, std::min(taken, most_kept_ - line.size()));
    waiting_.erase(0, end == std::string::npos ? end : end + 1);
    if (end != std::string::npos) return line;
    if (is_at_end_) break;
    waiting_ = read_some_of_standard_input();
    is_at_end_ = waiting_.empty();
  }
  if (line.empty()) return std::nullopt;
  return line;
}

std::vector<int64_t> encode_line(const std::string& command, const text::Tokenizer& tokenizer,
                                 const models::Model& model, const std::string& line,
                                 const std::string& place, text::EncodeOptions options) {
  std::vector<int64_t> ids;
  try {
    ids = tokenizer.encode(line, options);
  } catch (const base::Error& error) {
    throw base::Error(error.kind(), command, place, error.what());
  }
  if (static_cast<int64_t>(ids.size()) > model.context_length()) {
    base::refuse(command, place,
                 "has " + std::to_string(ids.size()) + " tokens, the model's context is " +
                     std::to_string(model.context_length()));
  }
  return ids;
}

void say_unknown_words(const Session& session, const text::Tokenizer& tokenizer,
                       const std::string& line) {
  const auto unknown = tokenizer.special().unk;
  if (!session.talkative || !unknown) return;
  constexpr size_t kMost = 8;
  std::vector<std::string> words;
  for (const std::string_view word : text::words(line)) {
    const std::vector<int64_t> ids = tokenizer.encode(word);
    const bool is_new = std::ranges::find(words, word) == words.end();
    if (is_new && std::ranges::find(ids, *unknown) != ids.end()) words.emplace_back(word);
  }
  if (words.empty()) return;
  std::string all;
  for (size_t i = 0; i < std::min(kMost, words.size()); ++i) {
    all.append(i == 0 ? "" : ", ").append(narrate::visible(words[i]));
  }
  if (words.size() > kMost) all += ", …";
  say_line(session, "command.unknown_words", {{"words", all}});
}

EncodedBlock encode_block(const TextLines& lines, const std::vector<std::string>& block,
                          const EncodeLine& encode) {
  EncodedBlock encoded;
  try {
    for (size_t i = 0; i < block.size(); ++i) {
      encoded.lines.push_back(encode(block[i], lines.place(i)));
    }
  } catch (const base::Error&) {
    encoded.refusal = std::current_exception();
  }
  return encoded;
}

}  // namespace headlight::cli
