// Models: those that the server offers, opened once and shared by all requests.
#pragma once

#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "headlight/recipes/recipes.h"

namespace headlight::server {

// Never changed after it was opened: experiments work through Context or on a copy.
struct ServedModel {
  std::string id;    // what requests call it
  std::string name;  // what the command line called it: a path, or an embedded model's name
  recipes::LoadedModel loaded;
  std::optional<text::Tokenizer> tokenizer;
  std::optional<text::ChatTemplate> chat_template;
  std::exception_ptr template_problem;  // why the one that is there cannot be used
  recipes::ModelInformation information;

  const models::Model& model() const { return *loaded.model; }
};

// Thread-safe.
class Models {
 public:
  // `names` as on the command line, opened here: Error(bad_input) for what is none, Error(usage)
  // for two of one id. Without names the embedded ones are offered, each opened on first use.
  // `files` outlives this.
  Models(base::FileSystem& files, const std::vector<std::string>& names);
  ~Models();

  // In the order of the command line, or sorted. A model's id is the last part of its path.
  std::vector<std::string> ids() const;
  bool has(const std::string& id) const;
  // What a user should know of how those that are open were read, "folder: note".
  std::vector<std::string> notes() const;
  // Throws HttpError 404, code "model_not_found", param "model".
  std::shared_ptr<const ServedModel> open(const std::string& id) const;

  // Offers one more, opened on first use: a folder that a job has written. Gives its id: the one
  // asked for, or, where that is taken, one with a number after it.
  std::string add(const std::string& id, const std::string& folder);
  // Who has opened it keeps it.
  void remove(const std::string& id);

 private:
  struct Entry;
  std::vector<std::shared_ptr<Entry>> entries() const;

  base::FileSystem& files_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<Entry>> entries_;
};

}  // namespace headlight::server
