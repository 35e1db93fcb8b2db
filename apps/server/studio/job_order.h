// What the body of POST /api/jobs asks for.
#pragma once

#include <functional>
#include <string>

#include "headlight/recipes/recipes.h"

namespace headlight::server::studio {

struct JobOrder {
  std::string kind;
  std::string name = {};       // empty: none was given
  std::string model = {};      // the id; of a training empty
  std::string data_text = {};  // to be kept in the job's folder
  std::string ids_text = {};
  std::string targets_text = {};
  std::string pairs_text = {};
  recipes::JobWork work = {};
};

// `name_of` gives the name of a model by its id (Models). Throws HttpError 400 that names the
// field.
JobOrder read_job_order(const std::string& body,
                        const std::function<std::string(const std::string& id)>& name_of);

// The field that a refusal of a training's keys is about: it begins with the key that it names, as
// in "n_embd (64): is not a multiple of n_head 3".
std::string field_of_refusal(std::string_view message);

}  // namespace headlight::server::studio
