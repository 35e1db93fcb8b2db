// GenerationReply: the answer to one request for texts while it is being written, sent as a whole
// or as a stream.
#pragma once

#include <memory>
#include <vector>

#include "apps/server/http/http.h"
#include "apps/server/models.h"
#include "apps/server/openai/answers.h"
#include "apps/server/openai/generating_thread.h"

namespace headlight::server::openai {

// For each part of a GenerationWork, `choices` texts.
class GenerationReply : public GenerationWork {
 public:
  struct Setting {
    ChunkHead head;
    bool is_stream = false;
    size_t choices = 1;  // of each part
    std::string param;   // the field that prompts come from
    int64_t prompt_tokens = 0;
    std::shared_ptr<const ServedModel> served = {};  // whose tokenizer the texts use
  };
  // `texts`: one for each choice.
  GenerationReply(Setting setting, std::vector<ChoiceText> texts, std::shared_ptr<Reply> reply);

  void event(size_t part, size_t continuation, const infer::RequestEvent& event) override;
  void finished() override;
  void failed(std::exception_ptr problem) override;

 private:
  void give(size_t index, ChoicePiece piece);
  void stream(size_t index, const ChoicePiece& piece);
  void write(std::string_view data);
  Usage usage() const;

  Setting setting_;
  std::vector<ChoiceText> texts_;
  std::shared_ptr<Reply> reply_;
  std::vector<bool> has_begun_;
  std::vector<Choice> choices_;  // of an answer that is sent as a whole
  std::vector<std::vector<infer::ScoredToken>> prompt_scores_;  // by part
  bool is_streaming_ = false;
};

// Sends what went wrong, in OpenAI's form; an error of the input names `param`.
void send_problem(Reply& reply, const std::exception_ptr& problem, const std::string& param);
HttpErrorFields problem_fields(const std::exception_ptr& problem, const std::string& param);

}  // namespace headlight::server::openai
