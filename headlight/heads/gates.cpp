// Draws of hard-concrete gates, their gradient, and the steps that train them.
#include "headlight/heads/gates.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "headlight/heads/model_gates.h"
#include "headlight/optim/optim.h"

namespace headlight::heads {
namespace {

using autograd::Context;
using autograd::Value;
using io::Json;
using models::Batch;
using tensor::DType;
using tensor::Tensor;

constexpr const char* kGating = "gates";
// How names of a GateState begin.
constexpr const char* kLogAlphas = "gates.";
constexpr const char* kGateMoments = "gate_optimizer.";
constexpr const char* kWeights = "model.";
constexpr const char* kWeightMoments = "model_optimizer.";
constexpr double kBeta = 2.0 / 3.0;
constexpr double kGamma = -0.1;
constexpr double kZeta = 1.1;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// d open_probability / dlog_alpha.
double probability_slope(double log_alpha) {
  const double p = open_probability(log_alpha);
  return p * (1 - p);
}

// The gates of one module.
struct ModuleGates {
  nn::MultiHeadAttention* attention = nullptr;
  std::vector<float> own = {};         // what the module has; 1 where it has nothing
  nn::ParameterHandle log_alpha = {};  // (H,)
  std::vector<double> slopes = {};     // of the step's draws, (B, H)
};

class GateTraining {
 public:
  GateTraining(base::ThreadPool& threads, models::Model& model, const GateOptions& options)
      : threads_(threads), model_(model), options_(options), kept_(model) {
    check();
    for (nn::MultiHeadAttention* attention : model.attentions()) {
      if (attention->heads().count() == 0) continue;
      gates_.push_back(starting_gates(*attention));
      log_alphas_.push_back(gates_.back().log_alpha);
    }
    using optim::OptimizerKind;
    gate_optimizer_.emplace(
        log_alphas_, optim::OptimizerOptions{.kind = OptimizerKind::adam, .weight_decay = 0});
    if (options.trains_weights) {
      weight_optimizer_.emplace(model.parameters(),
                                optim::OptimizerOptions{.weight_decay = 0, .grad_clip = 1});
    } else {
      frozen_.emplace(model.parameters());
    }
    if (options.begun) take_state(*options.begun);
  }

  GatesResult run() {
    for (int64_t step = options_.begun ? options_.begun->step : 0; step < options_.steps; ++step) {
      if (options_.watch.stops()) return {.interrupted = true};
      const GateStep done = learn(step);
      if (options_.step_done) options_.step_done(done);
      if (options_.standing) options_.standing(state(done.step));
      options_.watch.tell(step + 1, options_.steps);
    }
    return result();
  }

  // As a step would go by it, at these log_alphas.
  GateObjective objective(const std::vector<double>& log_alphas, int64_t step) {
    size_t at = 0;
    for (ModuleGates& gates : gates_) {
      Tensor numbers = gates.log_alpha->change();
      for (size_t head = 0; head < gates.own.size(); ++head) {
        if (gates.own[head] == 0) continue;
        if (at == log_alphas.size()) base::refuse(kGating, "log_alphas", "are too few");
        numbers.mutable_data<float>()[head] = static_cast<float>(log_alphas[at++]);
      }
    }
    if (at != log_alphas.size()) base::refuse(kGating, "log_alphas", "are too many");
    GateObjective objective{.loss = add_gradients(step)};
    objective.penalty = options_.penalty * expected_open();
    for (const ModuleGates& gates : gates_) {
      const Tensor gradient = gates.log_alpha->grad();
      for (size_t head = 0; head < gates.own.size(); ++head) {
        if (gates.own[head] != 0) objective.slopes.push_back(gradient.data<float>()[head]);
      }
    }
    return objective;
  }

 private:
  void check() const {
    if (!model_.has_logits()) base::refuse(kGating, model_.type(), "the model predicts nothing");
    const auto need = [](bool is_right, const char* name, double number, const char* why) {
      if (!is_right) base::refuse(kGating, name, io::json_text(number) + " " + why);
    };
    need(options_.penalty >= 0 && std::isfinite(options_.penalty), "penalty", options_.penalty,
         "is not a number from 0 on");
    need(options_.learning_rate > 0 && std::isfinite(options_.learning_rate), "learning rate",
         options_.learning_rate, "is not a number above 0");
    need(options_.steps >= 1, "steps", static_cast<double>(options_.steps), "steps are too few");
  }

  // Under names that tell them apart; take_state() is the way back.
  GateState state(int64_t step) const {
    GateState state{.step = step};
    const auto add = [&](const char* prefix, const nn::StateDict& tensors) {
      for (const auto& [name, tensor] : tensors) state.tensors.emplace(prefix + name, tensor);
    };
    add(kLogAlphas, nn::save_state(log_alphas_));
    add(kGateMoments, gate_optimizer_->state());
    if (weight_optimizer_) {
      add(kWeights, nn::save_state(model_.parameters()));
      add(kWeightMoments, weight_optimizer_->state());
    }
    return state;
  }

  void take_state(const GateState& state) {
    if (state.step < 0 || state.step > options_.steps) {
      base::refuse(kGating, "step " + std::to_string(state.step),
                   "is not one of " + std::to_string(options_.steps));
    }
    nn::StateDict left = state.tensors;
    const auto take = [&](std::string_view prefix) {
      nn::StateDict taken;
      for (auto at = left.begin(); at != left.end();) {
        if (!at->first.starts_with(prefix)) {
          ++at;
          continue;
        }
        taken.emplace(at->first.substr(prefix.size()), at->second);
        at = left.erase(at);
      }
      return taken;
    };
    const auto nothing_else = [](const std::string&, const nn::StoredTensor&) { return false; };
    nn::load_state(log_alphas_, take(kLogAlphas), nothing_else, kGating);
    gate_optimizer_->load_state(take(kGateMoments));
    if (weight_optimizer_) {
      nn::load_state(model_.parameters(), take(kWeights), nothing_else, kGating);
      weight_optimizer_->load_state(take(kWeightMoments));
    }
    if (!left.empty()) base::refuse(kGating, left.begin()->first, "is no part of this training");
  }

  ModuleGates starting_gates(nn::MultiHeadAttention& attention) const {
    const int64_t count = attention.heads().count();
    ModuleGates gates{.attention = &attention,
                      .own = std::vector<float>(static_cast<size_t>(count), 1.0F)};
    if (const Value& own = attention.gates(); own.defined()) {
      if (own.rank() != 1) {
        base::refuse(kGating, attention.options().place, "has gates for each example already");
      }
      std::copy_n(own.data().contiguous().data<float>(), count, gates.own.begin());
    }
    const std::vector<float> start(static_cast<size_t>(count),
                                   static_cast<float>(options_.log_alpha));
    gates.log_alpha = std::make_shared<nn::Parameter>("log_alpha." + attention.options().place,
                                                      Tensor::of({count}, start));
    return gates;
  }

  // Gates for each of `rows` examples, and their slopes.
  void draw(ModuleGates& gates, int64_t step, int64_t rows) const {
    const nn::HeadSet& heads = gates.attention->heads();
    const std::string& place = gates.attention->options().place;
    const base::Random random(base::mix(base::mix(options_.seed, static_cast<uint64_t>(step)),
                                        base::name_key("gates." + place)));
    const float* log_alpha = gates.log_alpha->value().data().data<float>();
    Tensor numbers = Tensor::uninitialized(DType::f32, {rows, heads.count()});
    gates.slopes.resize(static_cast<size_t>(numbers.elements()));
    for (int64_t i = 0; i < numbers.elements(); ++i) {
      const auto head = static_cast<size_t>(i % heads.count());
      // By the head's number: its noise is the same whichever others are left.
      const auto at =
          static_cast<uint64_t>(i / heads.count() * heads.original + heads.numbers[head]);
      constexpr double kHalfOfLast = 0x1p-54;  // never 0
      const GateDraw drawn = drawn_gate(log_alpha[head], random.uniform64(at) + kHalfOfLast);
      numbers.mutable_data<float>()[i] = static_cast<float>(gates.own[head] * drawn.value);
      gates.slopes[static_cast<size_t>(i)] = gates.own[head] * drawn.slope;
    }
    gates.attention->set_gates(Value::leaf(numbers, true));
  }

  // dL/dlog_alpha = sum over examples of dL/dz * dz/dlog_alpha + penalty * dP(z > 0)/dlog_alpha.
  void add_gradient(Context& context, ModuleGates& gates) const {
    const auto count = static_cast<size_t>(gates.attention->heads().count());
    const Tensor by_gate = gates.attention->gates().grad();
    std::vector<double> sums(count, 0.0);
    for (size_t i = 0; by_gate.defined() && i < gates.slopes.size(); ++i)
      sums[i % count] += by_gate.data<float>()[i] * gates.slopes[i];
    const float* log_alpha = gates.log_alpha->value().data().data<float>();
    Tensor gradient = Tensor::uninitialized(DType::f32, {static_cast<int64_t>(count)});
    for (size_t head = 0; head < count; ++head) {
      const bool is_there = gates.own[head] != 0;
      const double penalty = is_there ? options_.penalty * probability_slope(log_alpha[head]) : 0;
      gradient.mutable_data<float>()[head] = static_cast<float>(sums[head] + penalty);
    }
    gates.log_alpha->value().gradient()->add(context, gradient);
  }

  // The loss of the step's batch with the gates that it draws; gradients are there afterwards.
  double add_gradients(int64_t step) {
    const Batch batch = options_.batch(step);
    for (ModuleGates& gates : gates_) draw(gates, step, batch.ids.size(0));
    autograd::Tape tape;
    Context context{.threads = threads_,
                    .arena = arena_,
                    .tape = &tape,
                    .random = {options_.seed, static_cast<uint64_t>(step)},
                    .training = options_.trains_weights};
    const Value loss = model_.loss(context, batch);
    tape.backward(context, loss);
    for (ModuleGates& gates : gates_) add_gradient(context, gates);
    return loss.item();
  }

  GateStep learn(int64_t step) {
    GateStep done{.step = step + 1, .expected_open = expected_open()};
    done.loss = add_gradients(step);
    change(*gate_optimizer_, options_.learning_rate, done);
    if (weight_optimizer_) change(*weight_optimizer_, options_.weight_learning_rate, done);
    return done;
  }

  void change(optim::Optimizer& optimizer, double learning_rate, const GateStep& step) {
    const double norm = optimizer.step({threads_, arena_}, learning_rate);
    optimizer.clear_gradients();
    if (std::isfinite(norm) && std::isfinite(step.loss)) return;
    throw base::Error(base::ErrorKind::failed, kGating, "step " + std::to_string(step.step),
                      "diverged: the loss or its gradient is no number any more; a lower "
                      "learning rate may help");
  }

  template <class Take>
  void for_each_gate(const Take& take) const {
    for (const ModuleGates& gates : gates_) {
      const float* log_alpha = gates.log_alpha->value().data().data<float>();
      for (size_t head = 0; head < gates.own.size(); ++head) {
        if (gates.own[head] == 0) continue;
        take(HeadName{gates.attention->options().place, gates.attention->heads().numbers[head]},
             static_cast<double>(log_alpha[head]));
      }
    }
  }

  double expected_open() const {
    double sum = 0;
    for_each_gate([&](const HeadName&, double log_alpha) { sum += open_probability(log_alpha); });
    return sum;
  }

  GatesResult result() const {
    GatesResult result{.expected_open = expected_open(),
                       .penalty = options_.penalty,
                       .steps = options_.steps,
                       .trained_weights = options_.trains_weights};
    for_each_gate([&](const HeadName& head, double log_alpha) {
      const double value = gate_value(log_alpha);
      result.heads.push_back({head, log_alpha, open_probability(log_alpha), value, log_alpha >= 0});
    });
    return result;
  }

  base::ThreadPool& threads_;
  models::Model& model_;
  const GateOptions& options_;
  ModelGates kept_;
  tensor::Arena arena_;
  std::vector<ModuleGates> gates_;
  nn::Parameters log_alphas_;  // of these
  std::optional<nn::FrozenParameters> frozen_;
  std::optional<optim::Optimizer> gate_optimizer_;
  std::optional<optim::Optimizer> weight_optimizer_;
};

}  // namespace

GateDraw drawn_gate(double log_alpha, double noise) {
  const double s = sigmoid((std::log(noise) - std::log1p(-noise) + log_alpha) / kBeta);
  const double stretched = s * (kZeta - kGamma) + kGamma;
  if (stretched <= 0) return {0, 0};
  if (stretched >= 1) return {1, 0};
  return {stretched, (kZeta - kGamma) * s * (1 - s) / kBeta};
}

double open_probability(double log_alpha) {
  static const double kShift = kBeta * std::log(-kGamma / kZeta);
  return sigmoid(log_alpha - kShift);
}

double gate_value(double log_alpha) {
  return std::clamp(sigmoid(log_alpha) * (kZeta - kGamma) + kGamma, 0.0, 1.0);
}

std::vector<HeadName> GatesResult::closed() const {
  std::vector<HeadName> names;
  for (const HeadGate& gate : heads) {
    if (!gate.open) names.push_back(gate.head);
  }
  return names;
}

GatesResult train_gates(base::ThreadPool& threads, models::Model& model,
                        const GateOptions& options) {
  return GateTraining(threads, model, options).run();
}

GateObjective gate_objective(base::ThreadPool& threads, models::Model& model,
                             const GateOptions& options, const std::vector<double>& log_alphas,
                             int64_t step) {
  return GateTraining(threads, model, options).objective(log_alphas, step);
}

Json::Object gates_json(const GatesResult& result) {
  Json::Array heads;
  for (const HeadGate& gate : result.heads) {
    heads.emplace_back(Json::Object{{"head", gate.head.text()},
                                    {"log_alpha", gate.log_alpha},
                                    {"probability", gate.probability},
                                    {"value", gate.value},
                                    {"open", gate.open}});
  }
  return {{"penalty", result.penalty},
          {"steps", result.steps},
          {"trained_weights", result.trained_weights},
          {"expected_open", result.expected_open},
          {"open", static_cast<int64_t>(result.heads.size() - result.closed().size())},
          {"heads", std::move(heads)}};
}

}  // namespace headlight::heads
