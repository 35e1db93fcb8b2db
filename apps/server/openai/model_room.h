// ModelRoom: a served model as /v1 uses it: its thread, and how it reads prompts and sentences.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "apps/server/openai/answers.h"
#include "apps/server/openai/generating_thread.h"
#include "apps/server/openai/requests.h"
#include "apps/server/service.h"

namespace headlight::server::openai {

// Thread-safe.
class ModelRoom {
 public:
  ModelRoom(std::shared_ptr<const ServedModel> served, Service& service);

  const std::shared_ptr<const ServedModel>& served() const { return served_; }
  const std::string& id() const { return served_->id; }
  const models::Model& model() const { return served_->model(); }
  GeneratingThread& thread() { return thread_; }
  TokenTexts texts() const;

  bool translates() const { return model().capabilities().translates; }

  // Throws HttpError 400 unless the model writes, one way or the other.
  void check_writes() const;
  const models::GenerationSettings& writing() const { return writing_; }
  // Throws HttpError 400 unless the model gives sentence vectors of that width.
  void check_embeds(const std::optional<int64_t>& dimensions) const;

  // What a model continues or translates. `param` is the field that it comes from. Throws HttpError
  // 400 for what no token stands for, ids that are none, and more than the context holds.
  infer::Prompt prompt_of(const std::string& param, const Input& input) const;
  // A sentence as `headlight embed` reads it; ids as they are.
  std::vector<int64_t> sentence_of(const std::string& param, const Input& input) const;
  models::Pooling pooling() const { return sentences_.pooling; }

 private:
  std::vector<int64_t> encoded(const std::string& param, const std::string& text) const;
  void check_ids(const std::string& param, const std::vector<int64_t>& ids, int64_t known) const;

  std::shared_ptr<const ServedModel> served_;
  recipes::TaskSources sources_;
  recipes::SentenceSettings sentences_;
  models::GenerationSettings writing_;  // settings beside the model, ...
  std::exception_ptr writing_problem_;  // ... and those of them that are not followed
  GeneratingThread thread_;
};

// What /v1/models tells of a model, which needs no room.
ModelEntry model_entry(const ServedModel& served, int64_t created);

// The rooms of models that somebody has asked for. Thread-safe.
class ModelRooms {
 public:
  explicit ModelRooms(Service& service) : service_(service) {}

  // Throws HttpError 404 for a model that there is not.
  std::shared_ptr<ModelRoom> open(const std::string& id);
  // Ends all threads after their present step; false: one of them is not there yet at that time.
  bool stop(std::chrono::steady_clock::time_point until);

 private:
  Service& service_;
  std::mutex mutex_;
  bool is_stopped_ = false;
  std::map<std::string, std::shared_ptr<ModelRoom>> rooms_;
};

}  // namespace headlight::server::openai
