// JSON values from events.
#include "headlight/io/json.h"
#include "headlight/io/json_events.h"
#include "headlight/io/numbers.h"

namespace headlight::io {
namespace {

// Builds the value without recursion: the open arrays and objects are a stack of pointers. They
// stay valid, since only the innermost one grows.
class Builder : public JsonEvents {
 public:
  void null() override { add(Json()); }
  void boolean(bool value) override { add(value); }
  void integer(int64_t value) override { add(value); }
  void real(std::string_view number) override { add(parse_number<double>(number).value_or(0.0)); }
  void text(std::string& value) override { add(std::move(value)); }
  void begin_array() override { open_.push_back(&add(Json::Array())); }
  void end_array() override { open_.pop_back(); }
  void begin_object() override { open_.push_back(&add(Json::Object())); }
  void key(std::string& key) override { key_ = std::move(key); }
  void end_object() override { open_.pop_back(); }

  Json take() { return std::move(root_); }

 private:
  Json& add(Json value) {
    if (open_.empty()) return root_ = std::move(value);
    if (Json::Array* array = open_.back()->array()) return array->emplace_back(std::move(value));
    return open_.back()->object()->emplace_back(std::move(key_), std::move(value)).second;
  }

  Json root_;
  std::vector<Json*> open_;
  std::string key_;
};

}  // namespace

Json parse_json(std::string_view text, const std::string& name) {
  Builder builder;
  parse_json_events(text, "json", name, builder);
  return builder.take();
}

Json read_json(base::FileSystem& files, const std::string& path, uint64_t limit) {
  return parse_json(base::read_all(*base::open_input(files, path), limit), path);
}

}  // namespace headlight::io
