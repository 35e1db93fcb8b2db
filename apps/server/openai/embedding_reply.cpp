// Each turn takes the sentences of one batch; vectors do not depend on how they are cut.
#include "apps/server/openai/embedding_reply.h"

#include "apps/server/openai/generation_reply.h"

namespace headlight::server::openai {

EmbeddingReply::EmbeddingReply(const ModelRoom& room, std::vector<std::vector<int64_t>> sentences,
                               bool base64, std::shared_ptr<Reply> reply)
    : served_(room.served()),
      pooling_(room.pooling()),
      sentences_(std::move(sentences)),
      reply_(std::move(reply)) {
  answer_.model = room.id();
  answer_.base64 = base64;
  answer_.prompt_tokens = static_cast<int64_t>(prompt_ids());
}

size_t EmbeddingReply::prompt_ids() const {
  size_t count = 0;
  for (const std::vector<int64_t>& sentence : sentences_) count += sentence.size();
  return count;
}

bool EmbeddingReply::turn(autograd::Context& context) {
  constexpr size_t kTokensOfTurn = 512;
  std::vector<std::vector<int64_t>> batch;
  size_t tokens = 0;
  while (answer_.vectors.size() + batch.size() < sentences_.size() && tokens < kTokensOfTurn) {
    batch.push_back(sentences_[answer_.vectors.size() + batch.size()]);
    tokens += batch.back().size();
  }
  for (std::vector<float>& vector :
       infer::sentence_vectors(context, served_->model(), batch, {.pooling = pooling_})) {
    answer_.vectors.push_back(std::move(vector));
  }
  if (answer_.vectors.size() < sentences_.size()) return true;
  reply_->send({.body = embeddings_json(answer_)});
  return false;
}

void EmbeddingReply::failed(std::exception_ptr problem) { send_problem(*reply_, problem, "input"); }

}  // namespace headlight::server::openai
