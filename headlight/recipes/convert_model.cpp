// Writing what was read, and counting what was written.
#include "headlight/recipes/convert_model.h"

#include "headlight/recipes/model_copy.h"

namespace headlight::recipes {

namespace {

// The model as another type computes it.
std::unique_ptr<models::Model> as_type(const models::Model& model, const std::string& type,
                                       const std::string& place) {
  const auto* pairs = dynamic_cast<const models::Seq2Seq*>(&model);
  if (pairs != nullptr && type == "marian") return models::as_marian(*pairs, place);
  base::refuse("convert", place,
               "is a " + std::string(model.type()) + " and cannot be written as " +
                   io::in_quotes(type) +
                   (pairs != nullptr ? ", only as headlight-seq2seq or marian" : ""));
}

}  // namespace

ConvertedModel convert_model(base::FileSystem& files, const LoadedModel& loaded,
                             const std::string& folder, const std::optional<std::string>& type) {
  const std::string& place = loaded.weights.empty() ? loaded.folder : loaded.weights;
  std::unique_ptr<models::Model> other;
  if (type && *type != loaded.model->type()) other = as_type(*loaded.model, *type, place);
  const models::Model& model = other != nullptr ? *other : *loaded.model;
  ConvertedModel converted{.folder = folder, .type = std::string(model.type())};
  for (const nn::ParameterHandle& parameter : model.parameters()) {
    converted.parameters += parameter->shape().elements();
  }
  converted.kind = models::stored_kind(files, place);
  write_model_copy(files, model, loaded.folder, folder, converted.kind);
  converted.bytes = model_bytes(files, folder);
  return converted;
}

io::Json converted_json(const ConvertedModel& converted) {
  return io::Json::Object{{"folder", converted.folder},
                          {"model_type", converted.type},
                          {"parameters", converted.parameters},
                          {"dtype", tensor::name_of(converted.kind)},
                          {"bytes", static_cast<int64_t>(converted.bytes)}};
}

}  // namespace headlight::recipes
