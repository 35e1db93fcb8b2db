// Models by id, opened once.
#include "apps/server/models.h"

#include <algorithm>
#include <filesystem>

#include "apps/server/http/request.h"

namespace headlight::server {
namespace {

// The last part of a path, whatever it ends with: "models/gpt2/" is gpt2, "." the folder we are in.
std::string id_of(const std::string& name) {
  const std::filesystem::path path(name);
  std::string last = path.filename().string();
  if (last.empty()) last = path.parent_path().filename().string();
  if (!last.empty() && last != "." && last != "..") return last;
  std::error_code problem;
  last = std::filesystem::weakly_canonical(path / "", problem).parent_path().filename().string();
  return last.empty() ? "model" : last;
}

std::shared_ptr<const ServedModel> opened(base::FileSystem& files, const std::string& id,
                                          const std::string& name) {
  recipes::LoadedModel loaded = recipes::load_named_model(files, name);
  auto tokenizer = recipes::find_tokenizer(files, loaded);
  auto information = recipes::information_on(files, loaded);
  std::optional<text::ChatTemplate> chat_template;
  std::exception_ptr template_problem;
  try {
    if (tokenizer) chat_template = recipes::model_chat_template(files, loaded);
  } catch (const base::Error&) {
    template_problem = std::current_exception();
  }
  return std::make_shared<const ServedModel>(
      ServedModel{.id = id,
                  .name = name,
                  .loaded = std::move(loaded),
                  .tokenizer = std::move(tokenizer),
                  .chat_template = std::move(chat_template),
                  .template_problem = std::move(template_problem),
                  .information = std::move(information)});
}

}  // namespace

struct Models::Entry {
  std::string id;
  std::string name;
  std::mutex mutex = {};
  std::shared_ptr<const ServedModel> model = {};
};

Models::Models(base::FileSystem& files, const std::vector<std::string>& names) : files_(files) {
  for (const std::string& name : names.empty() ? recipes::embedded_models() : names) {
    auto entry = std::make_shared<Entry>();
    entry->id = id_of(name);
    entry->name = name;
    for (const auto& other : entries_) {
      if (other->id != entry->id) continue;
      throw base::Error(base::ErrorKind::usage, "models", other->name + ", " + name,
                        "both would be called " + entry->id + "; rename one of the folders");
    }
    entries_.push_back(std::move(entry));
  }
  if (names.empty()) return;
  for (const auto& entry : entries_) entry->model = opened(files_, entry->id, entry->name);
}

Models::~Models() = default;

std::vector<std::shared_ptr<Models::Entry>> Models::entries() const {
  const std::lock_guard lock(mutex_);
  return entries_;
}

std::vector<std::string> Models::ids() const {
  std::vector<std::string> ids;
  for (const auto& entry : entries()) ids.push_back(entry->id);
  return ids;
}

bool Models::has(const std::string& id) const {
  return std::ranges::any_of(entries(), [&](const auto& entry) { return entry->id == id; });
}

std::string Models::add(const std::string& id, const std::string& folder) {
  const std::lock_guard lock(mutex_);
  const auto is_taken = [&](const std::string& name) {
    return std::ranges::any_of(entries_, [&](const auto& entry) { return entry->id == name; });
  };
  auto entry = std::make_shared<Entry>();
  entry->id = id;
  for (int number = 2; is_taken(entry->id); ++number) {
    entry->id = id + "-" + std::to_string(number);
  }
  entry->name = folder;
  entries_.push_back(entry);
  return entry->id;
}

void Models::remove(const std::string& id) {
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [&](const auto& entry) { return entry->id == id; });
}

std::vector<std::string> Models::notes() const {
  std::vector<std::string> notes;
  for (const auto& entry : entries()) {
    const std::lock_guard lock(entry->mutex);
    if (!entry->model) continue;
    const recipes::LoadedModel& loaded = entry->model->loaded;
    for (const std::string& note : loaded.notes) notes.push_back(loaded.folder + ": " + note);
  }
  return notes;
}

std::shared_ptr<const ServedModel> Models::open(const std::string& id) const {
  const std::vector<std::shared_ptr<Entry>> all_entries = entries();
  for (const auto& entry : all_entries) {
    if (entry->id != id) continue;
    const std::lock_guard lock(entry->mutex);
    if (!entry->model) entry->model = opened(files_, entry->id, entry->name);
    return entry->model;
  }
  std::string all;
  for (const auto& entry : all_entries) all += (all.empty() ? "" : ", ") + entry->id;
  throw HttpError(
      {.status = 404,
       .message = text::printable("model (" + id + "): is not served here; there are " + all),
       .param = "model",
       .code = "model_not_found"});
}

}  // namespace headlight::server
