// EmbeddingReply: the vectors of a request, computed some sentences at a time.
#pragma once

#include <memory>
#include <vector>

#include "apps/server/http/http.h"
#include "apps/server/openai/answers.h"
#include "apps/server/openai/model_room.h"

namespace headlight::server::openai {

class EmbeddingReply : public TurnWork {
 public:
  EmbeddingReply(const ModelRoom& room, std::vector<std::vector<int64_t>> sentences, bool base64,
                 std::shared_ptr<Reply> reply);

  bool turn(autograd::Context& context) override;
  void failed(std::exception_ptr problem) override;
  size_t prompt_ids() const override;

 private:
  std::shared_ptr<const ServedModel> served_;
  models::Pooling pooling_;
  std::vector<std::vector<int64_t>> sentences_;
  EmbeddingAnswer answer_;
  std::shared_ptr<Reply> reply_;
};

}  // namespace headlight::server::openai
