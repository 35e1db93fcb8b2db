// /api/jobs: long work is begun, looked at, listened to, paused and removed.
#include "apps/server/studio/jobs.h"
#include "apps/server/studio/studio.h"

namespace headlight::server::studio {
namespace {

using io::Json;

const std::string& id_in(const Request& request) { return request.parameters.at("id"); }

void begin_job(Studio& studio, const Request& request, const std::shared_ptr<Reply>& reply) {
  reply->send_json(job_json(studio.jobs().add(request.body), true), 201);
}

void list_jobs(Studio& studio, const Request& request, const std::shared_ptr<Reply>& reply) {
  QueryFields(request.query).refuse_others();
  Json::Array all;
  for (const JobFacts& facts : studio.jobs().list()) all.push_back(job_json(facts, false));
  reply->send_json(Json::Object{{"jobs", std::move(all)}});
}

void show_job(Studio& studio, const Request& request, const std::shared_ptr<Reply>& reply) {
  QueryFields(request.query).refuse_others();
  reply->send_json(job_json(studio.jobs().at(id_in(request)), true));
}

void follow_job(Studio& studio, const Request& request, const std::shared_ptr<Reply>& reply) {
  QueryFields query(request.query);
  int64_t after = query.integer("after", kAnySeed).value_or(0);
  query.refuse_others();
  // A browser that comes back says what it had.
  const auto last = request.headers.find("last-event-id");
  if (last != request.headers.end()) {
    const std::map<std::string, std::string> header = {{"last-event-id", last->second}};
    after = QueryFields(header).integer("last-event-id", kAnySeed).value_or(after);
  }
  studio.jobs().follow(id_in(request), after, reply);
}

void pause_job(Studio& studio, const Request& request, const std::shared_ptr<Reply>& reply) {
  reply->send_json(job_json(studio.jobs().pause(id_in(request)), false));
}

void resume_job(Studio& studio, const Request& request, const std::shared_ptr<Reply>& reply) {
  reply->send_json(job_json(studio.jobs().resume(id_in(request)), false));
}

void remove_job(Studio& studio, const Request& request, const std::shared_ptr<Reply>& reply) {
  studio.jobs().remove(id_in(request));
  reply->send({.status = 204, .content_type = ""});
}

}  // namespace

void add_job_routes(const StudioRouter& router) {
  constexpr uint64_t kMostBody = 33 << 20;
  router.add("POST", "/api/jobs", begin_job, {.body_limit = kMostBody});
  router.add("GET", "/api/jobs", list_jobs);
  router.add("GET", "/api/jobs/{id}", show_job);
  router.add("GET", "/api/jobs/{id}/events", follow_job);
  router.add("POST", "/api/jobs/{id}/pause", pause_job);
  router.add("POST", "/api/jobs/{id}/resume", resume_job);
  router.add("DELETE", "/api/jobs/{id}", remove_job);
}

}  // namespace headlight::server::studio
