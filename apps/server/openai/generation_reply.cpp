// From events to chunks, or to one document.
#include "apps/server/openai/generation_reply.h"

namespace headlight::server::openai {

GenerationReply::GenerationReply(Setting setting, std::vector<ChoiceText> texts,
                                 std::shared_ptr<Reply> reply)
    : setting_(std::move(setting)),
      texts_(std::move(texts)),
      reply_(std::move(reply)),
      has_begun_(texts_.size()),
      choices_(texts_.size()),
      prompt_scores_(texts_.size() / setting_.choices) {}

void GenerationReply::event(size_t part, size_t continuation, const infer::RequestEvent& event) {
  if (!event.prompt.empty()) prompt_scores_[part] = event.prompt;
  if (!event.token && !event.reason) return;
  const size_t index = part * setting_.choices + continuation;
  if (!has_begun_[index]) {
    has_begun_[index] = true;
    if (setting_.is_stream && !is_streaming_) {
      is_streaming_ = true;
      reply_->begin(200, "text/event-stream");
    }
    if (setting_.is_stream && setting_.head.form == AnswerForm::chat) {
      write(first_chunk(setting_.head, index));
    }
    give(index, texts_[index].begin(prompt_scores_[part]));
  }
  give(index, texts_[index].add(event));
}

void GenerationReply::give(size_t index, ChoicePiece piece) {
  if (setting_.is_stream) {
    stream(index, piece);
  } else {
    choices_[index].append(std::move(piece));
  }
}

void GenerationReply::stream(size_t index, const ChoicePiece& piece) {
  if (!piece.text.empty() || !piece.entries.empty()) {
    write(piece_chunk(setting_.head, index, piece));
  }
  if (piece.reason) write(last_chunk(setting_.head, index, *piece.reason));
}

void GenerationReply::write(std::string_view data) {
  if (!reply_->write_or_drop(event_text(data))) cancel();
}

Usage GenerationReply::usage() const {
  Usage usage{.prompt_tokens = setting_.prompt_tokens};
  for (const ChoiceText& text : texts_) usage.completion_tokens += text.tokens();
  return usage;
}

void GenerationReply::finished() {
  if (!setting_.is_stream) {
    reply_->send({.body = answer_json(setting_.head, choices_, usage())});
    return;
  }
  if (setting_.head.has_usage) write(usage_chunk(setting_.head, usage()));
  write("[DONE]");
  reply_->end();
}

void GenerationReply::failed(std::exception_ptr problem) {
  if (!is_streaming_) {
    send_problem(*reply_, problem, setting_.param);
    return;
  }
  write(error_json(problem_fields(problem, setting_.param)));
  reply_->end();
}

HttpErrorFields problem_fields(const std::exception_ptr& problem, const std::string& param) {
  try {
    std::rethrow_exception(problem);
  } catch (const HttpError& error) {
    return error.fields();
  } catch (const base::Error& error) {
    const bool is_about_input = error.kind() == base::ErrorKind::bad_input;
    return fields_of(error, is_about_input ? param : "");
  } catch (const std::bad_alloc&) {
    return {.status = 503,
            .message = "there is not enough memory for this request now",
            .type = "server_error",
            .code = "out_of_memory",
            .headers = {{"retry-after", "1"}}};
  } catch (...) {
    return {.status = 500,
            .message = "the request failed for a reason unknown",
            .type = "server_error",
            .code = "internal_error"};
  }
}

void send_problem(Reply& reply, const std::exception_ptr& problem, const std::string& param) {
  reply.send_error(problem_fields(problem, param));
}

}  // namespace headlight::server::openai
