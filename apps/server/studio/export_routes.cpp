// GET /api/export and POST /api/compare: what was traced as a file to keep, and beside another.
#include "apps/server/studio/compare_order.h"
#include "apps/server/studio/studio.h"

namespace headlight::server::studio {
namespace {

using io::Json;

constexpr std::string_view kBytes = "application/octet-stream";

// The trace of an export, locked.
struct ExportedTrace {
  std::shared_ptr<KeptTrace> trace;
  std::unique_lock<std::mutex> lock;

  explicit ExportedTrace(std::shared_ptr<KeptTrace> found)
      : trace(std::move(found)), lock(trace->mutex) {}
};

Response file_of(std::string type, std::string name, std::string body) {
  return {.content_type = std::move(type),
          .body = std::move(body),
          .headers = {{"content-disposition", "attachment; filename=\"" + name + "\""}}};
}

std::string page_text_of(narrate::TraceDocument& document, std::string_view language,
                         const std::function<void()>& go_on) {
  std::string text;
  StringOutput output(text, go_on);
  document.write_page(output, language);
  return text;
}

std::string trace_file(narrate::TraceDocument& document, size_t run,
                       const std::vector<std::string>& names, const std::function<void()>& go_on) {
  const explain::Trace& trace = document.trace(run);
  std::vector<io::NamedTensor> tensors;
  uint64_t bytes = 0;
  const auto count = [&](const explain::TracedTensor& tensor) {
    bytes += static_cast<uint64_t>(tensor.shape.elements()) * sizeof(float);
  };
  for (const std::string& name : names) {
    count(about("names", [&] { return trace.at(explain::parse_tensor(trace, name).name); }));
  }
  for (const auto* all : {&trace.tensors(), &trace.parameters()}) {
    for (const explain::TracedTensor& tensor : *all) {
      if (names.empty() && !explain::is_left_out(tensor)) count(tensor);
    }
  }
  if (bytes > 4 * kMostAnswerBytes) {
    throw HttpError({.status = 413,
                     .message = "export: " + base::memory_text(bytes) + " are asked for, at most " +
                                base::memory_text(4 * kMostAnswerBytes) +
                                " are written; names takes fewer tensors",
                     .param = "names",
                     .code = "answer_too_large"});
  }
  if (names.empty()) tensors = explain::trace_tensors(trace, go_on);
  for (const std::string& name : names) {
    go_on();
    tensors.push_back({name, trace.values(name)});
  }
  return safetensors_text(tensors,
                          {{"trace", io::json_text(narrate::trace_json_with_steps(trace))}});
}

void export_trace(Studio& studio, const Request& request, const std::shared_ptr<Reply>& reply) {
  QueryFields query(request.query);
  const std::string id = request.parameters.at("trace");
  const std::string form = request.parameters.at("form");
  const ExportedTrace held(studio.traces().find(id));
  narrate::TraceDocument& document = *held.trace->document;
  const size_t run = held.trace->run_at(query.integer("run", {0, INT32_MAX}));
  const std::string file = "trace-" + id + "." + form;
  if (form == "html") {
    const narrate::Catalogue& catalogue = asked_catalogue(query);
    query.refuse_others();
    reply->send(file_of("text/html; charset=utf-8", file,
                        page_text_of(document, catalogue.language(), while_awaited(reply))));
  } else if (form == "safetensors") {
    const std::vector<std::string> names = query.words("names", 256);
    query.refuse_others();
    reply->send(
        file_of(std::string(kBytes), file, trace_file(document, run, names, while_awaited(reply))));
  } else if (form == "csv" || form == "svg") {
    const std::string name = query.needed_text("name");
    const narrate::Catalogue& catalogue = asked_catalogue(query);
    query.refuse_others();
    const explain::Trace& trace = document.trace(run);
    std::string body = about("name", [&] {
      return form == "csv" ? narrate::tensor_csv(trace, name)
                           : narrate::tensor_svg(trace, catalogue, name);
    });
    reply->send(file_of(form == "csv" ? "text/csv; charset=utf-8" : "image/svg+xml", file,
                        std::move(body)));
  } else {
    refuse_unknown("export", form, "form_not_found");
  }
}

Json difference_json(const explain::Trace& trace, const explain::TensorDifference& one) {
  return Json::Object{{"name", one.name},
                      {"step", narrate::number_of(narrate::step_of(trace, trace.at(one.name)))},
                      {"largest_difference", one.largest},
                      {"relative", one.relative},
                      {"at", one.at},
                      {"a", one.a},
                      {"b", one.b}};
}

Json comparison_json(const explain::Trace& trace, const explain::Comparison& found,
                     double tolerance) {
  Json::Array tensors, shapes;
  for (const auto& one : found.tensors) tensors.push_back(difference_json(trace, one));
  for (const auto& one : found.other_shapes) {
    shapes.emplace_back(Json::Object{{"name", one.name},
                                     {"a", Json::Array(one.a.begin(), one.a.end())},
                                     {"b", Json::Array(one.b.begin(), one.b.end())}});
  }
  const explain::TensorDifference* first = found.first_beyond(tolerance);
  return Json::Object{{"tolerance", tolerance},
                      {"compared", found.tensors.size()},
                      {"equal", found.equal_count()},
                      {"first", first == nullptr ? Json() : difference_json(trace, *first)},
                      {"tensors", std::move(tensors)},
                      {"other_shapes", std::move(shapes)},
                      {"only_a", Json::Array(found.only_a.begin(), found.only_a.end())},
                      {"only_b", Json::Array(found.only_b.begin(), found.only_b.end())}};
}

// A dump of another engine in the body.
void compare_dump(Studio& studio, const Request& request, const std::shared_ptr<Reply>& reply) {
  QueryFields query(request.query);
  const std::string id = query.needed_text("a");
  const auto run = query.integer("run", {0, INT32_MAX});
  const double tolerance = query.number("tolerance", {0, 1e30}).value_or(0);
  query.refuse_others();
  const ExportedTrace held(studio.traces().find(id));
  const explain::Trace& trace = held.trace->document->trace(held.trace->run_at(run));
  const explain::Comparison found = about("body", [&] {
    const io::Safetensors file(
        std::make_shared<base::MemoryInput>("body", std::as_bytes(std::span(request.body))));
    return explain::compare_with_file(trace, file, while_awaited(reply));
  });
  reply->send_json(comparison_json(trace, found, tolerance));
}

void compare_runs(Studio& studio, const Request& request, const std::shared_ptr<Reply>& reply) {
  if (request.content_type == kBytes) return compare_dump(studio, request, reply);
  QueryFields(request.query).refuse_others();
  const CompareOrder order = read_compare_order(request.body);
  const std::shared_ptr<KeptTrace> a = studio.traces().find(order.a);
  const std::shared_ptr<KeptTrace> b = studio.traces().find(order.b);
  std::unique_lock first(a->mutex, std::defer_lock);
  std::unique_lock second(b->mutex, std::defer_lock);
  if (a == b) {
    first.lock();
  } else {
    std::lock(first, second);
  }
  const explain::Trace& ours = a->document->trace(a->run_at(order.a_run));
  const explain::Trace& theirs = b->document->trace(b->run_at(order.b_run));
  reply->send_json(comparison_json(
      ours, explain::compare_traces(ours, theirs, while_awaited(reply)), order.tolerance));
}

}  // namespace

void add_export_routes(const StudioRouter& router) {
  router.add("GET", "/api/export/{trace}.{form}", export_trace);
  router.add(
      "POST", "/api/compare", compare_runs,
      {.body_limit = kMostUpload, .content_types = {"application/json", std::string(kBytes)}});
}

}  // namespace headlight::server::studio
