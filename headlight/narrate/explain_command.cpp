// A request as it would be typed.
#include "headlight/narrate/explain_request.h"

namespace headlight::narrate {
namespace {

class TypedCommand {
 public:
  explicit TypedCommand(std::string start) : text_(std::move(start)) {}

  void add_word(const std::string& word) { text_ += " " + shell_quoted(word); }
  void add_flag(const char* name, bool is_set) {
    if (is_set) text_.append(" --").append(name);
  }
  void add(const char* name, const std::optional<std::string>& value) {
    if (!value) return;
    add_flag(name, true);
    add_word(*value);
  }
  void add(const char* name, const std::optional<std::vector<int64_t>>& ids) {
    if (!ids) return;
    std::string list;
    for (const int64_t id : *ids) list += (list.empty() ? "" : ",") + std::to_string(id);
    add(name, std::optional(list));
  }
  // Only where it is not what it is anyway.
  template <class Number>
  void add_changed(const char* name, Number value, Number otherwise) {
    if (value != otherwise) add(name, std::optional(std::to_string(value)));
  }

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

void add_worked(const ExplainRequest& request, TypedCommand& command) {
  const recipes::WorkedModelOptions& worked = request.worked;
  const recipes::WorkedModelOptions usual;
  command.add("sentences", request.sentences);
  if (!request.encoding.empty()) command.add("encoding", std::optional(request.encoding));
  command.add("weights", request.weights);
  command.add_changed("heads", worked.heads, usual.heads);
  command.add_changed("head-width", worked.head_width, usual.head_width);
  command.add_changed("width", worked.width, usual.width);
  command.add_changed("seed", worked.seed, usual.seed);
  if (worked.pre_norm) command.add("norm", std::optional<std::string>("pre"));
  command.add_flag("train", request.train);
}

}  // namespace

std::string explain_command(const ExplainRequest& request, int64_t written) {
  TypedCommand command(request.program + " explain");
  if (request.model) command.add_word(*request.model);
  command.add("ids", request.ids);
  command.add("target-ids", request.target_ids);
  if (!request.ids) command.add("text", std::optional(request.text));
  command.add("target", request.target);
  if (written > 0) command.add("continue", std::optional(std::to_string(written)));
  command.add_flag("special", request.special);
  if (!request.model) add_worked(request, command);
  return command.text();
}

}  // namespace headlight::narrate
