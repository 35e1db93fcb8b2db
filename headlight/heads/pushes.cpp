// The walk back says which rows of which steps lie on the way; the head's row is sent forward over
// them.
#include "headlight/heads/pushes.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "headlight/heads/attention_heads.h"
#include "headlight/heads/linear_steps.h"
#include "headlight/heads/linear_walk.h"

namespace headlight::heads {
namespace {

using autograd::Recording;
using tensor::Tensor;

// What the head has added to each row that is on the way.
class HeadOnItsWay {
 public:
  HeadOnItsWay(const Recording& recording, const LinearWalk& walk, std::string place, int64_t index)
      : recording_(recording), walk_(walk), place_(std::move(place)), index_(index) {}

  void run() {
    const auto& visits = walk_.visits();
    for (auto visit = visits.rbegin(); visit != visits.rend(); ++visit) pass_over(*visit);
  }

  // Empty: nothing has come there.
  std::vector<double> at(int64_t value, int64_t row) const {
    const auto found = added_.find({value, row});
    return found == added_.end() ? Row() : found->second;
  }

 private:
  using Step = Recording::Step;
  using Row = std::vector<double>;

  void pass_over(const LinearWalk::Visit& visit) {
    const Step& step = *visit.step;
    const std::string_view operation = step.report.operation;
    if (step.is_name()) {
      keep(visit.value, visit.row, gathered(step.named, recording_.value(visit.value), visit.row));
    } else if (is_norm(step)) {
      pass_norm(step, visit.row);
    } else if (visit.value != step.output("output")) {
      return;
    } else if (operation == "linear") {
      pass_linear(step, visit.row);
    } else if (operation == "attention") {
      if (step.report.place == place_) begin(step, visit.row);
    } else if (operation == "embedding") {
      pass_embedding(step, visit.row);
    } else if (operation == "add" || operation == "scale") {
      pass_sum(step, visit.row);
    }
  }

  void keep(int64_t value, int64_t row, Row added) {
    if (!added.empty()) added_[{value, row}] = std::move(added);
  }

  Row gathered(const Recording::Source& source, const autograd::Value& value, int64_t row) const {
    if (source.value == Recording::kUnknown) return {};
    const Tensor& whole = recording_.value(source.value).data();
    const int64_t width = value.data().size(-1);
    Row result;
    int64_t done = 0;
    for (const RowStretch& stretch : stretches_of(source, whole, value.data(), row, width)) {
      const auto found = added_.find({source.value, stretch.row});
      if (found != added_.end()) {
        result.resize(static_cast<size_t>(width));
        std::copy_n(found->second.begin() + stretch.column, stretch.count, result.begin() + done);
      }
      done += stretch.count;
    }
    return result;
  }
  Row gathered(const Step& step, std::string_view role, int64_t row) const {
    const Recording::Input* input = step.input(role);
    if (input == nullptr) return {};
    return gathered(input->source, input->value, row % input->value.data().matrix().rows);
  }

  // Everything in the merged row but this head's numbers is 0.
  void begin(const Step& step, int64_t row) {
    const Row merged = row_of(recording_.value(step.output("output")).data(), row);
    const auto heads = static_cast<int64_t>(step.number("heads"));
    const auto width = static_cast<int64_t>(merged.size()) / heads;
    Row own(merged.size());
    std::copy_n(merged.begin() + index_ * width, width, own.begin() + index_ * width);
    keep(step.output("output"), row, std::move(own));
  }

  void pass_linear(const Step& step, int64_t row) {
    const int64_t output = step.output("output");
    const std::string place = walk_.place_before(output, ".output");
    if (place.ends_with(".ffn") || place == "ffn") return;  // a part of its own
    const Row input = gathered(step, "input", row);
    if (input.empty()) return;
    const tensor::ConstMatrixView weight = weight_of(step);
    Row result(static_cast<size_t>(weight.cols));
    for (int64_t out = 0; out < weight.cols; ++out) {
      double sum = 0;
      for (int64_t in = 0; in < weight.rows; ++in) {
        sum += input[static_cast<size_t>(in)] * weight.at(in, out);
      }
      result[static_cast<size_t>(out)] = sum;
    }
    if (step.word("activation") != "none") {
      const Row before = row_of(recording_.value(step.output("hidden")).data(), row);
      const Row after = row_of(recording_.value(output).data(), row);
      for (size_t i = 0; i < result.size(); ++i) {
        result[i] *= before[i] == 0 ? 0 : after[i] / before[i];
      }
    }
    keep(output, row, std::move(result));
  }

  void pass_norm(const Step& step, int64_t row) {
    Row sum = gathered(step, "input", row);
    const Row residual = gathered(step, "residual", row);
    if (sum.empty()) sum.resize(residual.size());
    if (sum.empty()) return;
    for (size_t i = 0; i < residual.size(); ++i) sum[i] += residual[i];
    const bool has_sum = step.input("residual") != nullptr;
    const Tensor rows =
        has_sum ? recording_.value(step.output("sum")).data() : step.input("input")->value.data();
    keep(step.output("output"), row, normed(step, row_of(rows, row), sum));
    if (has_sum) keep(step.output("sum"), row, std::move(sum));
  }

  static Row normed(const Step& step, const Row& run, const Row& added) {
    const Row weights = row_of(step.input("weight")->value.data(), 0);
    const size_t width = weights.size();
    Row result(added.size());
    for (size_t begin = 0; begin < added.size(); begin += width) {
      const double scale = norm_scale(step, std::span(run).subspan(begin, width));
      double mean = 0;
      for (size_t i = 0; i < width; ++i) mean += added[begin + i];
      mean = is_centered_norm(step) ? mean / static_cast<double>(width) : 0;
      for (size_t i = 0; i < width; ++i) {
        result[begin + i] =
            (added[begin + i] - mean) * (weights[i] + step.number("weight_offset")) * scale;
      }
    }
    return result;
  }

  // Of a table that the run computed.
  void pass_embedding(const Step& step, int64_t row) {
    const Tensor ids = step.input("ids")->value.data().contiguous();
    Row result = gathered(step, "table", ids.data<int64_t>()[row]);
    for (double& number : result) number *= step.number("scale", 1);
    keep(step.output("output"), row, std::move(result));
  }

  void pass_sum(const Step& step, int64_t row) {
    const bool has_right = step.input("right") != nullptr;
    Row result = gathered(step, has_right ? "left" : "input", row);
    for (double& number : result) number *= step.number(has_right ? "alpha" : "factor", 1);
    const Row right = gathered(step, "right", row);
    if (result.empty()) result.resize(right.size());
    for (size_t i = 0; i < right.size(); ++i) result[i] += right[i];
    keep(step.output("output"), row, std::move(result));
  }

  const Recording& recording_;
  const LinearWalk& walk_;
  std::string place_;
  int64_t index_;
  std::map<std::pair<int64_t, int64_t>, Row> added_;  // by value and row
};

// Its place among the heads that there are.
int64_t index_of(const models::Model& model, const HeadName& head) {
  const int64_t index = find_head(model, head, "pushes").place;
  const std::vector<AttentionHeads> attentions = attention_heads(model);
  const auto attention = std::ranges::find(attentions, head.place, &AttentionHeads::place);
  if (!attention->is_output_stack) {
    base::refuse("pushes", head.text(),
                 "reaches the words through the decoder's heads alone; ask for one of these");
  }
  return index;
}

std::vector<double> pushes_of_row(const Recording& recording, const models::Model& model,
                                  const HeadName& head, const autograd::Value& logits,
                                  int64_t row) {
  const int64_t index = index_of(model, head);
  const auto words = static_cast<size_t>(logits.size(-1));
  LinearWalk walk(recording, attention_heads(model));
  // Nothing is asked of the way back but where it leads.
  walk.start(logits, row, std::vector<double>(words));
  walk.run();
  HeadOnItsWay way(recording, walk, head.place, index);
  way.run();
  if (walk.visits().empty()) return std::vector<double>(words);
  std::vector<double> pushes = way.at(walk.visits().front().value, row);
  pushes.resize(words);
  return pushes;
}

}  // namespace

std::vector<double> head_pushes(base::ThreadPool& threads, const models::Model& model,
                                const models::Batch& batch, const HeadName& head,
                                int64_t position) {
  check_metric("pushes", model, batch, {.position = position});
  tensor::Arena arena;
  Recording recording;
  autograd::Context context{.threads = threads, .arena = arena, .observer = &recording};
  const autograd::Value output = model.forward(context, batch);
  const autograd::Value row = autograd::slice(output, 1, position, 1);
  return pushes_of_row(recording, model, head, model.logits(context, row), 0);
}

std::vector<double> head_pushes(const Recording& recording, const models::Model& model,
                                const HeadName& head, int64_t position) {
  const autograd::Value logits = recording.find("logits");
  if (!logits.defined()) base::refuse("pushes", model.type(), "the model predicts no words");
  const int64_t positions = logits.data().matrix().rows;
  if (position < 0 || position >= positions) {
    base::refuse("pushes", "at",
                 "there are the positions 0 to " + std::to_string(positions - 1) + ", not " +
                     std::to_string(position));
  }
  return pushes_of_row(recording, model, head, logits, position);
}

StrongestPushes strongest_pushes(const std::vector<double>& pushes, int64_t best) {
  std::vector<int64_t> ids(pushes.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto kept = ids.begin() + std::min<int64_t>(best, std::ssize(ids));
  const auto strongest = [&](double sign) {
    const auto value = [&](int64_t id) { return sign * pushes[static_cast<size_t>(id)]; };
    std::partial_sort(ids.begin(), kept, ids.end(), [&](int64_t a, int64_t b) {
      return value(a) > value(b) || (value(a) == value(b) && a < b);
    });
    std::vector<PushedWord> words;
    for (auto id = ids.begin(); id != kept && value(*id) > 0; ++id) {
      words.push_back({*id, pushes[static_cast<size_t>(*id)]});
    }
    return words;
  };
  return {.up = strongest(1), .down = strongest(-1)};
}

io::Json::Object pushes_json(const StrongestPushes& pushes,
                             const std::function<std::string(int64_t)>& label) {
  const auto list = [&](const std::vector<PushedWord>& words) {
    io::Json::Array json;
    for (const PushedWord& word : words) {
      json.emplace_back(
          io::Json::Object{{"id", word.id}, {"token", label(word.id)}, {"value", word.value}});
    }
    return json;
  };
  return {{"up", list(pushes.up)}, {"down", list(pushes.down)}};
}

}  // namespace headlight::heads
