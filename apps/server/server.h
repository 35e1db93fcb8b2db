// Door of the server: HTTP, the models it offers, and the APIs that stand on both.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/server/http/http.h"
#include "apps/server/models.h"
#include "apps/server/service.h"

namespace headlight::server {

struct ApplicationOptions {
  std::vector<std::string> models = {};  // names or folders; none: all that come along
  std::string work_folder = {};          // where jobs lie; empty: jobs that write are refused
  ServerOptions http = {};               // without files: the studio's
};

// All of `headlight serve` but the command line. Listens once it is made.
class Application {
 public:
  // `files` and `threads` outlive it. Throws Error(bad_input) for models that do not open, then as
  // HttpServer does, and Error(failed) when another server holds the work folder.
  Application(base::FileSystem& files, base::ThreadPool& threads, ApplicationOptions options);
  ~Application();  // stops
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;

  uint16_t port() const;
  std::string url() const;
  std::vector<std::string> notes() const;  // on how models were read, "folder: note"
  void start();
  bool stop(double seconds = 1e6);  // as HttpServer

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// Whether no server holds the folder, which need not be there.
bool is_work_folder_free(const std::string& folder);

}  // namespace headlight::server
