// State, and what all routes share.
#include "apps/server/studio/studio.h"

#include <algorithm>

namespace headlight::server::studio {
namespace {

// Half of what is free now, within reason.
TraceStore::Limits trace_limits(base::FileSystem& files) {
  constexpr uint64_t kLeast = uint64_t{256} << 20;
  constexpr uint64_t kMost = uint64_t{4} << 30;
  return {.bytes = std::clamp(base::available_memory(files) / 2, kLeast, kMost)};
}

}  // namespace

Studio::Studio(Service& service, const TraceStore::Limits& limits)
    : service_(service),
      traces_(limits),
      lessons_(service.threads),
      jobs_(service.threads, service.files,
            {.folder = service.work_folder.empty() ? "" : service.work_folder + "/jobs"},
            {.name_of = [this](const std::string& id) { return service_.models.open(id)->name; },
             .add = [this](const std::string& id,
                           const std::string& folder) { return service_.models.add(id, folder); },
             .remove = [this](const std::string& id) { service_.models.remove(id); }}),
      workers_({.threads = service.workers, .waiting = service.queued_requests}) {}

recipes::LoadedModel Studio::own_copy(const ServedModel& served) {
  return recipes::load_named_model(files(), served.name);
}

std::shared_ptr<const heads::BehaviourResult> Studio::behaviour_of(
    const std::shared_ptr<const ServedModel>& served) {
  return behaviours_.of(served, [&] {
    return recipes::model_behaviour(threads(), served->model(),
                                    served->tokenizer ? &*served->tokenizer : nullptr);
  });
}

std::shared_ptr<const io::Json> Studio::reference_of(
    const std::shared_ptr<const ServedModel>& served) {
  return references_.of(served, [&]() -> io::Json {
    if (served->loaded.folder.starts_with("embedded:")) return {};
    try {
      const auto found = recipes::compare_with_reference(threads(), files(), served->loaded.folder,
                                                         served->model());
      return found ? recipes::reference_json(*found) : io::Json();
    } catch (const base::Error& error) {
      // The model is there all the same.
      return io::Json::Object{{"error", error.what()}};
    }
  });
}

void StudioRouter::add(std::string method, std::string pattern, StudioHandler handler,
                       RouteOptions options) const {
  router.add(
      std::move(method), std::move(pattern),
      [state = studio, handler = std::move(handler)](const Request& request,
                                                     std::shared_ptr<Reply> reply) {
        state->workers().compute(std::move(reply),
                                 [state, handler, request](const std::shared_ptr<Reply>& to) {
                                   handler(*state, request, to);
                                 });
      },
      std::move(options));
}

const narrate::Catalogue& asked_catalogue(QueryFields& query) {
  const std::vector<std::string_view>& codes = narrate::languages();
  return narrate::Catalogue::of(query.choice("lang", codes));
}

std::function<void()> while_awaited(const std::shared_ptr<Reply>& reply) {
  return [reply] {
    if (!reply->is_gone()) return;
    throw base::Error(base::ErrorKind::failed, "request", "", "nobody waits for it any more");
  };
}

std::string safetensors_text(const std::vector<io::NamedTensor>& tensors,
                             const io::Metadata& metadata) {
  std::string text;
  StringOutput output(text);
  io::write_safetensors(output, "answer", tensors, metadata);
  return text;
}

}  // namespace headlight::server::studio

namespace headlight::server {

RoomState add_studio_routes(Router& router, Service& service) {
  const auto studio =
      std::make_shared<studio::Studio>(service, studio::trace_limits(service.files));
  const studio::StudioRouter routes{router, studio};
  add_model_routes(routes);
  add_trace_routes(routes);
  add_predict_routes(routes);
  add_job_routes(routes);
  add_lesson_routes(routes);
  add_export_routes(routes);
  service.on_stop.push_back([weak = std::weak_ptr(studio)](auto until) {
    const auto alive = weak.lock();
    if (alive == nullptr) return true;
    alive->jobs().begin_stop();
    const bool has_ended = alive->workers().stop(until);
    return alive->jobs().stop(until) && has_ended;
  });
  return studio;
}

}  // namespace headlight::server
