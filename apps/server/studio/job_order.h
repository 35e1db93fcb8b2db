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

}  // namespace headlight::server::studio
