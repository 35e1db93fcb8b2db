// What ranks tell each other unasked: signs of life, goodbyes and faults; and what is concluded
// when they fall silent.
#include <algorithm>
#include <charconv>
#include <string_view>

#include "headlight/ranks/messenger.h"

namespace headlight::ranks {
namespace {

using namespace std::chrono_literals;

// The first letter of a notice.
constexpr char kAlive = 'a';
constexpr char kQuestion = 'q';  // answered by a sign of life
constexpr char kFault = 'f';     // "f<exit code> <rank that has gone, or -1> <text>"
constexpr char kGoodbye = 'g';

// A launcher that has lost a rank kills the others a second after it has told them to end: until
// then it must be known who lives, and told.
constexpr auto kTimeToAnswer = 400ms;
// Who has gone may have answered before: so often it is looked whether its words are still to come.
constexpr int kLooksForLastWords = 20;

// A long text without its middle, where a path mostly is: how it begins and why it ends stay. Cut
// between characters of UTF-8.
std::string without_middle(const std::string& text, size_t longest) {
  if (text.size() <= longest) return text;
  constexpr std::string_view kLeftOut = "…";
  const auto is_inside = [&](size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
  };
  const size_t kept = longest - kLeftOut.size();
  size_t head = kept / 2, tail = text.size() - (kept - head);
  constexpr int kLongest = 3;  // bytes inside a character; where there are more, it is no UTF-8
  for (int i = 0; i < kLongest && is_inside(head); ++i) --head;
  for (int i = 0; i < kLongest && is_inside(tail); ++i) ++tail;
  return text.substr(0, head).append(kLeftOut).append(text, tail);
}

}  // namespace

void Messenger::take_notice(const Notice& notice) {
  const auto sender = static_cast<size_t>(notice.sender);
  last_heard_[sender] = Clock::now();
  if (notice.bytes.empty()) return;
  const std::string rest = notice.bytes.substr(1);
  switch (notice.bytes.front()) {
    case kQuestion:
      questioners_.push_back(notice.sender);
      break;
    case kGoodbye:
      has_left_[sender] = true;
      break;
    case kFault:
      begin_fault(fault_in(rest));
      break;
    default:
      break;
  }
}

Messenger::PendingFault Messenger::fault_in(const std::string& words) {
  PendingFault fault;
  const char* end = words.data() + words.size();
  const char* at = words.data();
  for (int* number : {&fault.exit_code, &fault.lost}) {
    at = std::from_chars(at, end, *number).ptr;
    if (at != end) ++at;  // the blank
  }
  fault.text.assign(at, end);
  return fault;
}

void Messenger::give_signs_of_life(Clock::time_point now) {
  for (const int other : questioners_) link_->send_notice(other, std::string(1, kAlive));
  questioners_.clear();
  const std::chrono::duration<double> pause(std::min(timeout_ / 5, 5.0));
  if (now - last_sign_ < pause) return;
  last_sign_ = now;
  tell_all(std::string(1, kAlive));
}

void Messenger::look_for_the_gone(Clock::time_point now) {
  if (fault_) return;
  if (options_.end_wish && !has_looked_ && options_.end_wish()) {
    has_looked_ = true;
    ask_who_is_there(now);
  }
  // Asked once more: it may be this process that was stopped.
  for (int other = 0; other < count_ && !asked_; ++other) {
    if (is_missed(other) && silence_of(other, now) >= timeout_) ask_who_is_there(now);
  }
}

// Whether anything is expected of it.
bool Messenger::is_missed(int other) const {
  return other != rank_ && !has_left_[static_cast<size_t>(other)];
}

double Messenger::silence_of(int other, Clock::time_point now) const {
  return std::chrono::duration<double>(now - last_heard_[static_cast<size_t>(other)]).count();
}

// Who lives has just answered.
void Messenger::end_by_loss(int rank, Clock::time_point now) {
  const Clock::time_point asked = *asked_;
  const double silence = silence_of(rank, now);
  std::string text = "ranks (" + name_of(rank) + "): ";
  text += silence < timeout_ ? "has gone"
                             : "has given no sign of life for " +
                                   std::to_string(static_cast<int64_t>(silence)) + " s";
  begin_fault({.text = with_advice(std::move(text)), .lost = rank, .is_news = true});
  asked_ = asked;
  end_by_fault();
}

void Messenger::ask_who_is_there(Clock::time_point now) {
  asked_ = now;
  tell_all(std::string(1, kQuestion));
}

bool Messenger::has_answered(int other) const {
  return last_heard_[static_cast<size_t>(other)] >= *asked_;
}

// Who has answered, or is on this machine and there.
bool Messenger::is_alive(int other, Clock::time_point now) const {
  return has_answered(other) || process_of(other, now) == ProcessState::running;
}

// Who counts as gone does not tell, even where it comes back: a launcher that ends all ranks lets a
// stopped one go on first.
bool Messenger::is_lowest_alive(Clock::time_point now) const {
  for (int other = 0; other < rank_; ++other) {
    const bool counts_as_gone = fault_ && fault_->lost == other;
    if (!counts_as_gone && is_alive(other, now)) return false;
  }
  return true;
}

std::string Messenger::with_advice(std::string text) const {
  const std::lock_guard lock(mutex_);
  return advice_.empty() ? text : text + "; " + advice_;
}

// Of one that has given no sign of life for too long it says nothing that the process is there: the
// network may be cut.
ProcessState Messenger::process_of(int other, Clock::time_point now) const {
  std::string process;
  {
    const std::lock_guard lock(mutex_);
    if (static_cast<size_t>(other) < processes_.size())
      process = processes_[static_cast<size_t>(other)];
  }
  const ProcessState state = state_of(process);
  const bool is_late = state == ProcessState::running && silence_of(other, now) >= timeout_;
  return is_late ? ProcessState::unknown : state;
}

// When all have answered, or had the time to, or one on this machine has gone for certain. A
// process that is there and slow to answer is not lost. Nor is one that may be: who saves before it
// ends goes on to where it can, as long as the other has not been silent for too long.
void Messenger::consider_answers(Clock::time_point now) {
  if (!asked_) return;
  const auto wish = options_.end_wish ? options_.end_wish() : std::nullopt;
  const bool ends_anyway = wish && wish->ends;
  bool have_answered = true;
  int lost = -1, gone = -1, silent = -1;
  for (int other = count_ - 1; other >= 0; --other) {
    if (!is_missed(other) || has_answered(other)) continue;
    have_answered = false;
    const ProcessState state = process_of(other, now);
    if (state == ProcessState::running) continue;
    if (state == ProcessState::gone) gone = other;
    if (ends_anyway || silence_of(other, now) >= timeout_) lost = other;
    if (state == ProcessState::unknown) silent = other;
  }
  looks_for_last_words_ = gone >= 0 ? looks_for_last_words_ + 1 : 0;
  if (gone >= 0 && looks_for_last_words_ < kLooksForLastWords) return;
  const bool is_over = have_answered || gone >= 0 || now - *asked_ >= kTimeToAnswer;
  if (!is_over) return;
  if (gone >= 0) lost = gone;
  if (fault_) {
    end_by_fault();
    return;
  }
  if (lost >= 0) {
    end_by_loss(lost, now);
    return;
  }
  if (silent >= 0 && wish) tell_of_silence(silent, now);
  asked_.reset();
  if (ends_anyway) begin_fault({.exit_code = wish->exit_code, .is_news = true});
}

// At once: where the other has gone, a launcher kills this process before that is certain.
void Messenger::tell_of_silence(int rank, Clock::time_point now) const {
  if (!options_.on_silence || !is_lowest_alive(now)) return;
  options_.on_silence(with_advice("ranks (" + name_of(rank) + "): does not answer"));
}

void Messenger::begin_fault(PendingFault fault) {
  if (fault_) return;
  fault_ = std::move(fault);
  constexpr size_t kRoom = 32;  // for the letter and the numbers
  if (fault_->is_news) {
    tell_all(kFault + std::to_string(fault_->exit_code) + " " + std::to_string(fault_->lost) + " " +
             without_middle(fault_->text, kNoticeBytes - kRoom));
  }
  ask_who_is_there(Clock::now());
}

void Messenger::end_by_fault() {
  Fault fault{.text = fault_->text,
              .exit_code = fault_->exit_code,
              // Others have told it of a rank that was stopped, and comes back.
              .is_told_here = fault_->lost != rank_ && is_lowest_alive(Clock::now()),
              .have_all_answered = true};
  for (int other = 0; other < count_; ++other) {
    if (other != rank_ && !has_answered(other)) fault.have_all_answered = false;
  }
  if (options_.on_fault) options_.on_fault(fault, *link_);
  end(End::fault, fault.text);
}

bool Messenger::leave_if_all_do() {
  {
    const std::lock_guard lock(mutex_);
    if (!wants_to_leave_ || !orders_.empty()) return false;
  }
  if (!under_way_.empty() || fault_) return false;
  if (!has_said_goodbye_) tell_all(std::string(1, kGoodbye));
  has_said_goodbye_ = true;
  for (int other = 0; other < count_; ++other) {
    if (other != rank_ && !has_left_[static_cast<size_t>(other)]) return false;
  }
  {
    const std::lock_guard lock(mutex_);
    have_all_left_ = true;
    done_.notify_all();
  }
  if (!link_->are_notices_sent()) return false;
  if (closes_) link_->close();
  end(End::left, "");
  return true;
}

void Messenger::tell_all(const std::string& notice) {
  for (int other = 0; other < count_; ++other) {
    if (other != rank_) link_->send_notice(other, notice);
  }
}

}  // namespace headlight::ranks
