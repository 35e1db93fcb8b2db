// Door of http: requests, replies, routes, metrics and the server. Nothing here knows a model.
//
//   Metrics metrics;
//   Router router;
//   router.add("GET", "/api/sum/{a}", [](const Request& request, std::shared_ptr<Reply> reply) {
//     reply->send_json(io::Json::Object{{"a", request.parameters.at("a")}});
//   });
//   HttpServer server({.port = 0}, std::move(router), metrics);
//   server.start();
#pragma once

#include "apps/server/http/metrics.h"
#include "apps/server/http/options.h"
#include "apps/server/http/reply.h"
#include "apps/server/http/request.h"
#include "apps/server/http/router.h"
#include "apps/server/http/server.h"
