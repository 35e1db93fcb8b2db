// Reading the parts of a tokenizer.json. For text's own use.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "headlight/io/io.h"

namespace headlight::text {

// The type of the parts that stand for what a file of SentencePiece's says.
inline constexpr std::string_view kSentencePiece = "SentencePiece";

// An object of the document with its "type", or null.
class Component {
 public:
  // `place` is where it stands, e.g. "pre_tokenizer"; `name` the file's.
  Component(const io::Json& json, std::string place, std::string name);
  Component(io::Json&&, std::string, std::string) = delete;  // it is not kept

  bool is_absent() const { return json_.is_null(); }
  const std::string& type() const { return type_; }
  const std::string& name() const { return name_; }

  // A member, or `missing` when it is absent or null; Error when it is of another type.
  bool flag(std::string_view key, bool missing) const;
  std::string text(std::string_view key, std::string_view missing) const;
  int64_t integer(std::string_view key, int64_t missing) const;
  // A text of one code point.
  std::string character(std::string_view key, std::string_view missing) const;
  // A member that must be there.
  const io::Json::Array& array(std::string_view key) const;
  const io::Json::Object& object(std::string_view key) const;
  const io::Json* find(std::string_view key) const { return json_.find(key); }

  // Throws: `why` is about this component.
  [[noreturn]] void refuse(const std::string& why) const;
  // Throws: the type, or its setting, is not one of those that are read.
  [[noreturn]] void refuse_type(std::string_view read) const;
  // Throws where a sequence has more steps than any in use.
  void check_steps(size_t count) const;

 private:
  const io::Json& json_;
  std::string place_;
  std::string name_;
  std::string type_;
};

}  // namespace headlight::text
