// Arrays checked before a model reads them.
#include "headlight/recipes/id_arrays.h"

#include <algorithm>

#include "headlight/io/io.h"

namespace headlight::recipes {

using tensor::Tensor;

IdArray read_ids(base::FileSystem& files, std::string_view what, const std::string& place) {
  const std::string name(what);
  const Tensor ids = io::as_int64(io::read_array(files, place), name).contiguous();
  if (ids.rank() != 1 && ids.rank() != 2)
    base::refuse(name, place, "shape is " + ids.shape().text() + ", (T,) or (B,T) is needed");
  if (ids.elements() == 0) base::refuse(name, place, "shape is " + ids.shape().text() + ", no ids");
  const bool is_one = ids.rank() == 1;
  return {is_one ? ids.reshaped({1, ids.size(0)}) : ids, is_one};
}

Tensor read_targets(base::FileSystem& files, std::string_view what, const std::string& place,
                    const Tensor& ids) {
  const std::string name(what);
  const Tensor targets = read_ids(files, what, place).ids;
  if (targets.shape() != ids.shape()) {
    base::refuse(name, place,
                 "shape is " + targets.shape().text() + ", the ids are " + ids.shape().text());
  }
  const int64_t* numbers = targets.data<int64_t>();
  if (std::all_of(numbers, numbers + targets.elements(), [](int64_t id) { return id == -1; })) {
    base::refuse(name, place,
                 "all " + std::to_string(targets.elements()) + " are -1, none counts for the loss");
  }
  return targets;
}

}  // namespace headlight::recipes
