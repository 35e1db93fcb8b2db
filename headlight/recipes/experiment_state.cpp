// The file of an experiment, read and written.
#include "headlight/recipes/experiment_state.h"

#include <algorithm>

#include "headlight/train/train.h"

namespace headlight::recipes {
namespace {

using base::Error;
using base::ErrorKind;
using io::Json;

constexpr uint64_t kLargestState = uint64_t{1} << 30;
constexpr std::chrono::seconds kBetweenSaves{5};

[[noreturn]] void refuse_folder(const std::string& folder, const std::string& why) {
  throw Error(ErrorKind::bad_input, "--out", folder, why);
}

// The first part of the request that is another one than before.
void check_same_request(const Json::Object& asked, const Json& before, const std::string& folder) {
  const auto shown = [](const Json* value) {
    return value == nullptr ? std::string("not given") : io::json_text(*value);
  };
  const auto refuse_change = [&](const std::string& name, const Json* now, const Json* then) {
    refuse_folder(folder, name + " is " + shown(now) + ", the experiment there was begun with " +
                              shown(then) + "; give that, or another --out");
  };
  const Json now = asked;
  for (const auto& [name, value] : asked) {
    const Json* then = before.find(name);
    // As they are written: a number that is whole is read as an integer.
    if (then == nullptr || io::json_text(*then) != io::json_text(value))
      refuse_change(name, &value, then);
  }
  for (const auto& [name, value] : *before.object()) {
    if (now.find(name) == nullptr) refuse_change(name, nullptr, &value);
  }
}

}  // namespace

ExperimentState::ExperimentState(base::FileSystem& files, ExperimentRequest request)
    : files_(files), request_(std::move(request)) {
  ranks::Group* group = request_.group;
  if (group != nullptr && !group->is_first()) request_.folder.clear();
  if (!request_.folder.empty()) open();
  if (group != nullptr) share(*group);
}

void ExperimentState::open() {
  const std::string& folder = request_.folder;
  const bool is_there = base::exists(files_, folder);
  const bool has_state = is_there && base::exists(files_, path());
  if (is_there && !request_.resume) {
    refuse_folder(folder, has_state ? "is there already; --resume goes on with its experiment, "
                                      "another name starts a new one"
                                    : "is there already; give another name");
  }
  if (!is_there) base::make_directories(files_, folder);
  lock_.emplace(folder, "--out");
  if (has_state) {
    read();
  } else if (is_there &&
             !std::ranges::all_of(base::list_directory(files_, folder), base::is_temporary)) {
    refuse_folder(folder, "holds other files and no " + std::string(kExperimentFile) +
                              ": there is no experiment to go on with");
  }
  is_saved_ = has_state;
  save();
}

void ExperimentState::read() {
  const Json state = io::read_json(files_, path(), kLargestState);
  const Json* version = state.find("experiment");
  const Json* request = state.find("request");
  const Json* finished = state.find("finished");
  const bool is_state = version != nullptr && version->integer() == 1 && request != nullptr &&
                        request->object() != nullptr && finished != nullptr &&
                        finished->object() != nullptr;
  if (!is_state) {
    throw Error(ErrorKind::bad_input, "experiment", path(),
                "is not the file of an experiment; remove it, or give another --out");
  }
  check_same_request(request_.request, *request, request_.folder);
  for (const auto& [name, result] : *finished->object()) finished_[name] = result;
  found_ = finished_.size();
}

void ExperimentState::share(ranks::Group& group) {
  const Json mine = Json::Object(finished_.begin(), finished_.end());
  const std::string text = group.from_first(io::json_text(mine));
  if (group.is_first()) return;
  const Json first = io::parse_json(text, std::string(kExperimentFile));
  for (const auto& [name, result] : *first.object()) finished_[name] = result;
  found_ = finished_.size();
}

const Json* ExperimentState::find(const std::string& name) const {
  const auto found = finished_.find(name);
  return found == finished_.end() ? nullptr : &found->second;
}

void ExperimentState::add(const std::string& name, Json result) {
  finished_[name] = std::move(result);
  is_saved_ = false;
  if (std::chrono::steady_clock::now() - saved_at_ >= kBetweenSaves) save();
}

void ExperimentState::save() {
  if (is_saved_ || request_.folder.empty()) return;
  Json::Object finished(finished_.begin(), finished_.end());
  const Json state = Json::Object{
      {"experiment", 1}, {"request", request_.request}, {"finished", std::move(finished)}};
  base::write_file(files_, path(), io::json_text(state) + "\n");
  is_saved_ = true;
  saved_at_ = std::chrono::steady_clock::now();
}

void ExperimentState::remove() {
  if (request_.folder.empty()) return;
  base::remove_file(files_, path());
  base::remove_file(files_, request_.folder);
  lock_.reset();
}

std::string model_sum(const models::Model& model) {
  train::Checksum sum;
  const auto add_text = [&](const std::string& text) {
    sum.add(std::as_bytes(std::span(text.data(), text.size())));
  };
  add_text(io::json_text(model.config()));
  for (const nn::ParameterHandle& parameter : model.parameters()) {
    const tensor::Tensor numbers = parameter->borrowed();
    add_text(parameter->name());
    sum.add({numbers.raw(), numbers.bytes()});
  }
  return sum.text();
}

}  // namespace headlight::recipes
