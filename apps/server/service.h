// Service: what the rooms of the server share, and what each of them adds to the router.
#pragma once

#include <functional>
#include <string>

#include "apps/server/http/http.h"
#include "apps/server/models.h"

namespace headlight::server {

// References outlive the server.
struct Service {
  base::FileSystem& files;
  base::ThreadPool& threads;  // calls from several threads take turns
  Models& models;
  Metrics& metrics;
  std::string work_folder;  // where jobs and what they write lie; empty: nothing is kept
  // Requests that are computed at a time where a room does that itself, and that may wait for it.
  int workers = 4;
  size_t queued_requests = 64;
  // What is to happen first when the server stops: end what holds replies.
  std::vector<StopCall> on_stop = {};
};

// What a room keeps for as long as the server lives (threads, traces, jobs); destroyed after the
// server has stopped.
using RoomState = std::shared_ptr<void>;

// OpenAI's API under /v1.
RoomState add_openai_routes(Router& router, Service& service);
// The studio's API under /api.
RoomState add_studio_routes(Router& router, Service& service);

}  // namespace headlight::server
