// The studio's state, which its routes share. What each route does is in its own file.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "apps/server/service.h"
#include "apps/server/studio/fields.h"
#include "apps/server/studio/jobs.h"
#include "apps/server/studio/lessons.h"
#include "apps/server/studio/once_per_model.h"
#include "apps/server/studio/traces.h"
#include "apps/server/studio/workers.h"

namespace headlight::server::studio {

inline constexpr uint64_t kMostAnswerBytes = 64 << 20;
inline constexpr int64_t kMostTileSide = 512;
inline constexpr int64_t kMostEdges = 4096;
inline constexpr int64_t kMostTerms = 4096;
inline constexpr uint64_t kMostUpload = 64 << 20;
inline constexpr std::string_view kWorked = "worked";

class Studio {
 public:
  Studio(Service& service, const TraceStore::Limits& limits);

  Service& service() { return service_; }
  base::ThreadPool& threads() { return service_.threads; }
  base::FileSystem& files() { return service_.files; }
  TraceStore& traces() { return traces_; }
  Workers& workers() { return workers_; }
  JobStore& jobs() { return jobs_; }
  LessonStore& lessons() { return lessons_; }

  // A model that may be changed: the same files, read again.
  recipes::LoadedModel own_copy(const ServedModel& served);
  // What its heads do on repeated tokens; measured when it is first asked for.
  std::shared_ptr<const heads::BehaviourResult> behaviour_of(
      const std::shared_ptr<const ServedModel>& served);
  // How close it comes to the numbers beside it, as JSON; null where there are none.
  std::shared_ptr<const io::Json> reference_of(const std::shared_ptr<const ServedModel>& served);

 private:
  Service& service_;
  TraceStore traces_;
  LessonStore lessons_;
  JobStore jobs_;
  Workers workers_;
  OncePerModel<heads::BehaviourResult> behaviours_;
  OncePerModel<io::Json> references_;
};

// Handlers are run by the studio's workers.
using StudioHandler = std::function<void(Studio& studio, const Request& request,
                                         const std::shared_ptr<Reply>& reply)>;
struct StudioRouter {
  Router& router;
  std::shared_ptr<Studio> studio;

  void add(std::string method, std::string pattern, StudioHandler handler,
           RouteOptions options = {}) const;
};

void add_model_routes(const StudioRouter& router);
void add_trace_routes(const StudioRouter& router);
void add_predict_routes(const StudioRouter& router);
void add_job_routes(const StudioRouter& router);
void add_lesson_routes(const StudioRouter& router);
void add_export_routes(const StudioRouter& router);

// The catalogue of `lang`; English without it. Throws HttpError 400.
const narrate::Catalogue& asked_catalogue(QueryFields& query);

// Runs `call`; what is wrong with the caller's words is about the field `param`.
template <class Call>
auto about(std::string_view param, const Call& call) {
  try {
    return call();
  } catch (const base::Error& error) {
    throw HttpError(fields_of(error, param));
  }
}

// For work that takes a while: throws once nobody waits for its answer any more.
std::function<void()> while_awaited(const std::shared_ptr<Reply>& reply);

// Gathers what is written.
class StringOutput : public base::Output {
 public:
  // `go_on` is called before each piece.
  explicit StringOutput(std::string& text, std::function<void()> go_on = {})
      : text_(text), go_on_(std::move(go_on)) {}
  using base::Output::write;
  void write(std::span<const std::byte> bytes) override {
    if (go_on_) go_on_();
    text_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }

 private:
  std::string& text_;
  std::function<void()> go_on_;
};

// Bytes of a safetensors file.
std::string safetensors_text(const std::vector<io::NamedTensor>& tensors,
                             const io::Metadata& metadata);

}  // namespace headlight::server::studio
