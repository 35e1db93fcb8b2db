// Pictures pooled while the weights are there, and roles from what was measured elsewhere.
#include "headlight/heads/head_map.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <mutex>

#include "headlight/heads/examples.h"
#include "headlight/heads/measured_heads.h"
#include "headlight/kernels/kernels.h"

namespace headlight::heads {
namespace {

using io::Json;
using tensor::Tensor;

constexpr double kHalf = 0.5;

struct Picture {
  Tensor numbers;
  int64_t row_step = 1;
  int64_t col_step = 1;
};

Picture picture_of(const Tensor& weights, const HeadMapOptions& options) {
  const int64_t rows = weights.size(0);
  const int64_t cols = weights.size(1);
  Picture picture{
      {}, kernels::block_side(rows, options.side), kernels::block_side(cols, options.side)};
  const tensor::Shape shape = {kernels::block_count(rows, picture.row_step),
                               kernels::block_count(cols, picture.col_step)};
  Tensor largest = Tensor::uninitialized(tensor::DType::f32, shape);
  Tensor mean = Tensor::uninitialized(tensor::DType::f32, shape);
  kernels::pool_blocks(weights.matrix(), {picture.row_step, picture.col_step},
                       largest.mutable_matrix(), mean.mutable_matrix());
  picture.numbers = options.by_mean ? mean : largest;
  return picture;
}

bool is_self(const HeadMap& map, const MappedHead& head) {
  return !is_cross(map.places[head.place].place);
}

Json optional_json(const std::optional<double>& number) { return number ? Json(*number) : Json(); }

std::optional<double> value_of(const std::optional<BehaviourScore>& score) {
  return score ? std::optional(score->value) : std::nullopt;
}

Json mapped_head_json(const HeadMap& map, const MappedHead& head,
                      const std::function<Json(const Tensor&)>& numbers) {
  const MappedPlace& place = map.places[head.place];
  Json json = head_json(head.statistics);
  Json::Object& members = *json.object();
  members.emplace_back("stack", place.stack());
  members.emplace_back("layer", place.layer());
  members.emplace_back("kind", place.kind());
  members.emplace_back("index", head.index);
  members.emplace_back("first_share", head.first_share);
  members.emplace_back("importance", optional_json(head.importance));
  members.emplace_back("induction", optional_json(head.induction));
  members.emplace_back("duplicate", optional_json(head.duplicate));
  members.emplace_back("thumbnail", Json::Object{{"rows", head.picture.size(0)},
                                                 {"cols", head.picture.size(1)},
                                                 {"row_step", head.row_step},
                                                 {"col_step", head.col_step},
                                                 {"values", numbers(head.picture)}});
  return json;
}

}  // namespace

std::string MappedPlace::stack() const { return place.substr(0, place.find('.')); }

int64_t MappedPlace::layer() const {
  const size_t begin = std::min(place.find('.'), place.size() - 1) + 1;
  int64_t number = 0;
  std::from_chars(place.data() + begin, place.data() + place.size(), number);
  return number;
}

std::string MappedPlace::kind() const { return place.substr(place.rfind('.') + 1); }

double HeadMap::sink_share() const {
  double sum = 0;
  int64_t count = 0;
  for (const MappedHead& head : heads) {
    if (!is_self(*this, head)) continue;
    sum += head.first_share;
    ++count;
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

int64_t HeadMap::sink_heads() const {
  return std::ranges::count_if(heads, [&](const MappedHead& head) {
    return is_self(*this, head) && head.first_share >= kHalf;
  });
}

HeadMap map_heads(base::ThreadPool& threads, const autograd::Recording& recording,
                  const models::Batch& batch, const HeadMapOptions& options) {
  // As many as there will be is known only afterwards; each is written by one thread.
  std::mutex mutex;
  std::map<size_t, Picture> pictures;
  const MeasuredHeads measured =
      measure_heads(threads, recording, batch, {}, [&](size_t head, const Tensor& weights) {
        Picture picture = picture_of(weights, options);
        const std::lock_guard lock(mutex);
        pictures.emplace(head, std::move(picture));
      });
  HeadMap map;
  for (const MeasuredAttention& one : measured.attentions) {
    map.places.push_back({one.place, one.heads, one.queries, one.keys});
  }
  for (size_t i = 0; i < measured.heads.size(); ++i) {
    const MeasuredHead& head = measured.heads[i];
    Picture& picture = pictures.at(i);
    map.heads.push_back({.statistics = head.statistics,
                         .place = head.attention,
                         .index = head.index,
                         .first_share = head.first_share,
                         .picture = std::move(picture.numbers),
                         .row_step = picture.row_step,
                         .col_step = picture.col_step});
  }
  return map;
}

void add_behaviour(HeadMap& map, const BehaviourResult& behaviour) {
  for (MappedHead& head : map.heads) {
    const auto found = behaviour.heads.find(head.statistics.place);
    if (found == behaviour.heads.end()) continue;
    if (head.index >= std::ssize(found->second)) continue;
    const Behaviour& measured = found->second[static_cast<size_t>(head.index)];
    head.induction = value_of(measured.induction);
    head.duplicate = value_of(measured.duplicate);
    const std::optional<HeadRole> role = clear_role(measured);
    if (!role) continue;
    head.statistics.role = *role;
    head.statistics.measure = *(role == HeadRole::induction ? head.induction : head.duplicate);
    head.statistics.key = -1;
  }
}

Json::Object head_map_json(const HeadMap& map, const std::function<Json(const Tensor&)>& numbers) {
  Json::Array heads, places;
  for (const MappedHead& head : map.heads) heads.push_back(mapped_head_json(map, head, numbers));
  for (const MappedPlace& place : map.places) {
    places.emplace_back(Json::Object{{"name", place.place},
                                     {"stack", place.stack()},
                                     {"layer", place.layer()},
                                     {"kind", place.kind()},
                                     {"heads", place.heads},
                                     {"queries", place.queries},
                                     {"keys", place.keys}});
  }
  return {{"heads", std::move(heads)},
          {"places", std::move(places)},
          {"sink", Json::Object{{"share", map.sink_share()}, {"heads", map.sink_heads()}}}};
}

}  // namespace headlight::heads
