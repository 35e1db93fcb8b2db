// The parts of the server put together, and the order in which they end.
#include "apps/server/server.h"

#include <algorithm>

#include "headlight/narrate/narrate.h"

namespace headlight::server {

namespace {

// Holds the folder for one server at a time.
std::unique_ptr<recipes::RunLock> lock_of(const std::string& folder) {
  try {
    return std::make_unique<recipes::RunLock>(folder, "work folder");
  } catch (const base::Error&) {
    throw base::Error(base::ErrorKind::failed, "work folder", folder,
                      "another server works there; end it, or give another name");
  }
}

// The studio, where the caller has no other page.
std::vector<StaticFile> studio_page() {
  std::vector<StaticFile> files;
  for (const narrate::StudioFile& file : narrate::studio_files()) {
    files.push_back({.path = std::string(file.path),
                     .content_type = std::string(file.content_type),
                     .bytes = file.bytes,
                     .gzip_bytes = file.gzipped});
  }
  return files;
}

}  // namespace

struct Application::Parts {
  Parts(base::FileSystem& files, base::ThreadPool& threads, const ApplicationOptions& options)
      : models(files, options.models),
        service{.files = files,
                .threads = threads,
                .models = models,
                .metrics = metrics,
                .work_folder = options.work_folder,
                .workers = std::max(1, options.http.limits.workers),
                .queued_requests =
                    static_cast<size_t>(std::max(1, options.http.limits.queued_requests))} {
    if (options.work_folder.empty()) return;
    base::make_directories(files, options.work_folder);
    lock = lock_of(options.work_folder);
  }

  Models models;
  Metrics metrics;
  Service service;
  std::unique_ptr<recipes::RunLock> lock = {};
  std::vector<RoomState> rooms = {};
  std::unique_ptr<HttpServer> http = {};  // first to go
};

Application::Application(base::FileSystem& files, base::ThreadPool& threads,
                         ApplicationOptions options)
    : parts_(std::make_unique<Parts>(files, threads, options)) {
  Router router;
  parts_->rooms.push_back(add_openai_routes(router, parts_->service));
  parts_->rooms.push_back(add_studio_routes(router, parts_->service));
  if (options.http.files.empty()) options.http.files = studio_page();
  parts_->http =
      std::make_unique<HttpServer>(std::move(options.http), std::move(router), parts_->metrics);
  for (const auto& call : parts_->service.on_stop) parts_->http->on_stop(call);
}

Application::~Application() { stop(); }

uint16_t Application::port() const { return parts_->http->port(); }
std::string Application::url() const { return parts_->http->url(); }
std::vector<std::string> Application::notes() const { return parts_->models.notes(); }
void Application::start() { parts_->http->start(); }
bool Application::stop(double seconds) { return parts_->http->stop(seconds); }

bool is_work_folder_free(const std::string& folder) {
  try {
    lock_of(folder);
    return true;
  } catch (const base::Error&) {
    return false;
  }
}

}  // namespace headlight::server
