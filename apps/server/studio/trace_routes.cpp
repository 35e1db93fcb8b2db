// /api/trace: a run is made and kept, and asked for its numbers, cells, edges and heads.
#include <algorithm>
#include <charconv>

#include "apps/server/studio/studio.h"
#include "apps/server/studio/trace_order.h"

namespace headlight::server::studio {
namespace {

using io::Json;

constexpr int64_t kMostSharedParameters = 2'000'000;      // smaller models are read again
constexpr int64_t kMostWeightsAtOnce = int64_t{1} << 24;  // that are measured without being asked
constexpr size_t kMostNames = 256;
constexpr IntegerRange kAnyRun = {0, INT32_MAX};
constexpr IntegerRange kAnyPlace = {0, INT32_MAX};

// A model of its own where the way back is wanted or costs little; or else the one that all share.
narrate::Subject served_subject(Studio& studio, const std::shared_ptr<const ServedModel>& served,
                                const narrate::ExplainRequest& request) {
  const bool is_small = served->information.parameters <= kMostSharedParameters;
  if (request.backward || (is_small && !request.skips_backward)) {
    recipes::LoadedModel own = studio.own_copy(*served);
    return narrate::make_subject(request, served->id, std::move(own.model), served->tokenizer);
  }
  return narrate::make_shared_subject(
      request, served->id, std::shared_ptr<const models::Model>(served, served->loaded.model.get()),
      served->tokenizer);
}

// Which field an error of making the trace is about.
std::string_view field_of(const base::Error& error) {
  const std::string_view message = error.what();
  if (message.find("(target)") != message.npos) return "target";
  if (message.find("(text)") != message.npos) return "text";
  if (message.find("(weights)") != message.npos) return "weights";
  if (message.find("(layer ") != message.npos) return "layers";
  return "";
}

// The document with what is the server's own around it; not copied, it may be large.
Response trace_answer(const KeptTrace& trace) {
  const std::string first = io::json_text(Json::Object{{"id", trace.id}, {"model", trace.model}});
  const std::string last = io::json_text(Json::Object{{"bytes", trace.bytes}});
  std::string body = io::json_text(trace.document->document());
  body.replace(0, 1, first.substr(0, first.size() - 1) + ",");
  body.replace(body.size() - 1, 1, "," + last.substr(1));
  return {.body = std::move(body)};
}

void make_trace(Studio& studio, const Request& request, const std::shared_ptr<Reply>& reply) {
  TraceOrder order = read_trace_order(request.body);
  order.request.most_weights = kMostWeightsAtOnce;
  auto trace = std::make_unique<KeptTrace>();
  trace->model = order.model;
  if (order.model != kWorked) trace->served = studio.service().models.open(order.model);
  const auto make = [&](const narrate::ExplainRequest& asked) {
    return trace->served == nullptr ? narrate::make_subject(studio.files(), asked)
                                    : served_subject(studio, trace->served, asked);
  };
  try {
    trace->document = std::make_unique<narrate::TraceDocument>(
        studio.threads(), studio.files(), order.request, make, [&] { return reply->is_gone(); });
  } catch (const base::Error& error) {
    throw HttpError(fields_of(error, field_of(error)));
  }
  trace->bytes = trace->document->bytes();
  reply->send(trace_answer(*studio.traces().add(std::move(trace))));
}

// A trace that nobody else asks just now.
struct LockedTrace {
  std::shared_ptr<KeptTrace> trace;
  std::unique_lock<std::mutex> lock;

  LockedTrace(Studio& studio, const Request& request)
      : trace(studio.traces().find(request.parameters.at("id"))), lock(trace->mutex) {}
  KeptTrace* operator->() const { return trace.get(); }
  const explain::Trace& run(size_t number) const { return trace->document->trace(number); }
};

void show_trace(Studio& studio, const Request& request, const std::shared_ptr<Reply>& reply) {
  QueryFields(request.query).refuse_others();
  const LockedTrace locked(studio, request);
  reply->send(trace_answer(*locked.trace));
}

void remove_trace(Studio& studio, const Request& request, const std::shared_ptr<Reply>& reply) {
  studio.traces().remove(request.parameters.at("id"));
  reply->send({.status = 204, .content_type = ""});
}

// "3:17", ":17", "3:".
explain::Positions positions_in(const char* name, const std::optional<std::string>& text) {
  explain::Positions positions;
  if (!text) return positions;
  const size_t colon = text->find(':');
  const auto number = [&](std::string_view word) -> std::optional<int64_t> {
    if (word.empty()) return std::nullopt;
    int64_t found = 0;
    const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), found);
    if (failure != std::errc() || end != word.data() + word.size() || found < 0) {
      refuse_field(name, "must be two numbers like 0:24, is " + io::in_quotes(*text));
    }
    return found;
  };
  if (colon == std::string::npos) {
    refuse_field(name, "must be two numbers like 0:24, is " + io::in_quotes(*text));
  }
  const std::string_view view = *text;
  positions.begin = number(view.substr(0, colon));
  positions.end = number(view.substr(colon + 1));
  return positions;
}

// "64x64".
void read_pool(const std::optional<std::string>& text, explain::TileRequest& tile) {
  if (!text) return;
  const std::string_view view = *text;
  const size_t cross = view.find('x');
  const auto side = [&](std::string_view word) {
    int64_t found = 0;
    const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), found);
    const bool is_whole = failure == std::errc() && end == word.data() + word.size();
    if (!is_whole || found < 1 || found > kMostTileSide) {
      refuse_field("pool", "must be rows and columns like 64x64, each 1 to " +
                               std::to_string(kMostTileSide) + ", is " + io::in_quotes(view));
    }
    return found;
  };
  tile.most_rows = side(view.substr(0, cross));
  tile.most_cols = side(cross == view.npos ? std::string_view() : view.substr(cross + 1));
}

void give_tensors(Studio& studio, const Request& request, const std::shared_ptr<Reply>& reply) {
  QueryFields query(request.query);
  const LockedTrace locked(studio, request);
  const size_t run = locked->run_at(query.integer("run", kAnyRun));
  query.needed_text("names");
  const std::vector<std::string> names = query.words("names", kMostNames);
  explain::TileRequest asked{.rows = positions_in("rows", query.text("rows")),
                             .cols = positions_in("cols", query.text("cols"))};
  read_pool(query.text("pool"), asked);
  query.refuse_others();
  const narrate::TraceDocument& document = *locked->document;
  uint64_t bytes = 0;
  for (const std::string& name : names) {
    const int64_t numbers = about(
        "names", [&] { return explain::tile_elements(name, document.shape_of(run, name), asked); });
    bytes += static_cast<uint64_t>(numbers) * sizeof(float);
  }
  if (bytes > kMostAnswerBytes) {
    throw HttpError({.status = 413,
                     .message = "tensors: " + base::memory_text(bytes) +
                                " are asked for, at most " + base::memory_text(kMostAnswerBytes) +
                                " are given at once; rows, cols and pool need less",
                     .param = "names",
                     .code = "answer_too_large"});
  }
  std::vector<explain::Tile> tiles;
  for (const std::string& name : names) {
    if (reply->is_gone()) return;
    const auto is_same = [&](const explain::Tile& tile) { return tile.name == name; };
    if (std::ranges::any_of(tiles, is_same)) refuse_field("names", name + " is named twice");
    tiles.push_back(document.tile(run, name, asked));
  }
  reply->send({.content_type = "application/octet-stream",
               .body = safetensors_text(explain::tile_tensors(tiles),
                                        {{"tiles", io::json_text(explain::tiles_json(tiles))}})});
}

void explain_one_cell(Studio& studio, const Request& request, const std::shared_ptr<Reply>& reply) {
  QueryFields query(request.query);
  const LockedTrace locked(studio, request);
  const size_t run = locked->run_at(query.integer("run", kAnyRun));
  const auto cell = query.text("cell");
  const auto name = query.text("name");
  const auto i = query.integer("i", kAnyPlace);
  const auto j = query.integer("j", kAnyPlace);
  const explain::TermRange range{
      .from = query.integer("from", kAnyPlace).value_or(0),
      .count = query.integer("limit", {1, kMostTerms}).value_or(kMostTerms)};
  query.refuse_others();
  if (cell && (name || i || j)) refuse_field("cell", "has no meaning with name, i and j");
  if (!cell && !name) refuse_field("name", "is missing; or cell");
  if (!cell && !i) refuse_field("i", "is missing");
  const std::string asked =
      cell ? *cell : *name + "[" + std::to_string(*i) + (j ? "," + std::to_string(*j) : "") + "]";
  const Json answer = about(cell ? "cell" : "name", [&] {
    const explain::Trace& trace = locked.run(run);
    return explain::cell_json(
        trace, explain::explain_cell(trace, explain::parse_cell(trace, asked)), range);
  });
  reply->send_json(answer);
}

void give_edges(Studio& studio, const Request& request, const std::shared_ptr<Reply>& reply) {
  QueryFields query(request.query);
  const LockedTrace locked(studio, request);
  const size_t run = locked->run_at(query.integer("run", kAnyRun));
  const std::string name = query.needed_text("name");
  explain::EdgeOptions options;
  options.mass = query.number("mass", {0, 1}).value_or(options.mass);
  options.limit = query.integer("limit", {1, kMostEdges}).value_or(options.limit);
  options.rows = query.integers("rows", kAnyPlace, kMostNames * kMostNames);
  options.skip_first = query.flag("skip_first");
  query.refuse_others();
  const explain::Trace& trace = locked.run(run);
  const explain::TensorSelection selection =
      about("name", [&] { return explain::parse_tensor(trace, name); });
  if (selection.head < 0 || !trace.at(selection.name).is_attention) {
    refuse_field("name",
                 "must be the weights of one head, like encoder.0.self.head.0.weights, is " +
                     io::in_quotes(name));
  }
  Json::Object answer = {{"name", name}};
  const Json::Object found = about("rows", [&] {
    return explain::edges_json(explain::strongest_edges(trace.values(name), options), options);
  });
  answer.insert(answer.end(), found.begin(), found.end());
  reply->send_json(std::move(answer));
}

// |dloss/dgate| of the trace's own text.
void add_importance(Studio& studio, const LockedTrace& locked, size_t run, heads::HeadMap& map) {
  const models::Batch& batch = locked.run(run).input().batch;
  const narrate::Subject& subject = locked->document->subject(run);
  if (!batch.targets.defined() || !subject.model().has_logits()) return;
  std::optional<recipes::LoadedModel> own;
  if (subject.shared != nullptr) own = studio.own_copy(*locked->served);
  const std::unique_lock changing(locked->model_mutex);
  models::Model& model = own ? *own->model : subject.changeable_model();
  const heads::ImportanceResult found = heads::measure_importance(studio.threads(), model, {batch});
  for (heads::MappedHead& head : map.heads) {
    const auto place = found.heads.find(head.statistics.place);
    if (place == found.heads.end() || head.index >= std::ssize(place->second)) continue;
    head.importance = place->second[static_cast<size_t>(head.index)].gradient;
  }
}

void map_of_heads(Studio& studio, const Request& request, const std::shared_ptr<Reply>& reply) {
  constexpr std::string_view kPools[] = {"max", "mean"};
  QueryFields query(request.query);
  const LockedTrace locked(studio, request);
  const size_t run = locked->run_at(query.integer("run", kAnyRun));
  heads::HeadMapOptions options;
  options.side = query.integer("size", {4, 64}).value_or(options.side);
  options.by_mean = query.choice("pool", kPools) == "mean";
  const bool with_behaviour = query.flag("behaviour");
  const bool with_importance = query.flag("importance");
  query.refuse_others();
  const explain::Trace& trace = locked.run(run);
  heads::HeadMap map =
      heads::map_heads(studio.threads(), trace.recording(), trace.input().batch, options);
  if (reply->is_gone()) return;
  if (with_behaviour && locked->served != nullptr) {
    heads::add_behaviour(map, *studio.behaviour_of(locked->served));
  } else if (with_behaviour) {
    const narrate::Subject& subject = locked->document->subject(run);
    heads::add_behaviour(
        map, recipes::model_behaviour(studio.threads(), subject.model(), subject.tokenizer()));
  }
  if (with_importance && !reply->is_gone()) add_importance(studio, locked, run, map);
  reply->send_json(heads::head_map_json(map, narrate::letters_json));
}

// What one head adds to the words' logits at a position.
void give_pushes(Studio& studio, const Request& request, const std::shared_ptr<Reply>& reply) {
  constexpr int64_t kMostWords = 100;
  constexpr int64_t kUsualWords = 8;
  QueryFields query(request.query);
  const LockedTrace locked(studio, request);
  const size_t run = locked->run_at(query.integer("run", kAnyRun));
  const std::string head = query.needed_text("head");
  const auto at = query.integer("at", kAnyPlace);
  const int64_t best = query.integer("best", {1, kMostWords}).value_or(kUsualWords);
  query.refuse_others();
  const std::vector<heads::HeadName> names =
      about("head", [&] { return heads::parse_head_names(head, "pushes"); });
  if (names.size() != 1) refuse_field("head", "must be one head, is " + io::in_quotes(head));
  const narrate::Subject& subject = locked->document->subject(run);
  const std::vector<std::string>& tokens = locked.run(run).input().tokens;
  const int64_t position = at.value_or(std::ssize(tokens) - 1);
  if (position >= std::ssize(tokens)) {
    refuse_field("at", "there are the positions 0 to " + std::to_string(tokens.size() - 1) +
                           ", not " + std::to_string(position));
  }
  const std::vector<double> pushes = about("head", [&] {
    const explain::Trace& trace = locked.run(run);
    // A trace of some layers does not know the way through the others.
    if (!locked->document->request().layers.empty()) {
      return heads::head_pushes(studio.threads(), subject.model(), trace.input().batch,
                                names.front(), position);
    }
    return heads::head_pushes(trace.recording(), subject.model(), names.front(), position);
  });
  const text::Tokenizer* tokenizer = subject.tokenizer();
  Json::Object answer = {{"head", head}, {"at", position}};
  for (Json::Member& member :
       heads::pushes_json(heads::strongest_pushes(pushes, best), [&](int64_t id) {
         return tokenizer == nullptr ? std::to_string(id) : text::label_of(*tokenizer, id);
       })) {
    answer.push_back(std::move(member));
  }
  reply->send_json(std::move(answer));
}

}  // namespace

void add_trace_routes(const StudioRouter& router) {
  router.add("POST", "/api/trace", make_trace);
  router.add("GET", "/api/trace/{id}", show_trace);
  router.add("DELETE", "/api/trace/{id}", remove_trace);
  router.add("GET", "/api/trace/{id}/tensors", give_tensors);
  router.add("GET", "/api/trace/{id}/cell", explain_one_cell);
  router.add("GET", "/api/trace/{id}/edges", give_edges);
  router.add("GET", "/api/trace/{id}/heads", map_of_heads);
  router.add("GET", "/api/trace/{id}/pushes", give_pushes);
}

}  // namespace headlight::server::studio
