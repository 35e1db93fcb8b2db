// Tables of malformed files: each with the core of its one-line error.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "headlight/base/base.h"
#include "headlight/io/io.h"

namespace headlight::io {

struct BadFile {
  const char* name;
  std::string bytes;
  std::string message;  // a part of it
};

inline void PrintTo(const BadFile& file, std::ostream* stream) { *stream << file.name; }

inline std::string name_of_case(const testing::TestParamInfo<BadFile>& info) {
  return info.param.name;
}

inline base::MemoryInput input_of(std::string_view bytes) {
  return base::MemoryInput("the file", std::as_bytes(std::span(bytes)));
}

// The text of the error that `call` throws, which must be of this kind.
template <class Call>
std::string error_of(const Call& call, base::ErrorKind kind = base::ErrorKind::bad_input) {
  try {
    call();
  } catch (const base::Error& error) {
    EXPECT_EQ(static_cast<int>(error.kind()), static_cast<int>(kind)) << error.what();
    return error.what();
  }
  return "no error";
}

inline void expect_refused(const std::string& error, const std::string& reader,
                           const std::string& message) {
  EXPECT_EQ(error.rfind(reader + " (the file): ", 0), 0u) << error;
  EXPECT_NE(error.find(message), std::string::npos) << error;
  EXPECT_EQ(error.find('\n'), std::string::npos) << error;
}

// A safetensors file of this header and these numbers.
inline std::string safetensors_bytes(const std::string& header, const std::string& data = "") {
  const uint64_t length = header.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + header + data;
}

// The tensor's values, whatever its dtype.
inline std::vector<double> values_of(const tensor::Tensor& array) {
  const tensor::Tensor dense = array.contiguous();
  std::vector<double> values;
  for (int64_t i = 0; i < dense.elements(); ++i) {
    switch (dense.dtype()) {
      case tensor::DType::f32:
        values.push_back(dense.data<float>()[i]);
        break;
      case tensor::DType::i64:
        values.push_back(static_cast<double>(dense.data<int64_t>()[i]));
        break;
      case tensor::DType::boolean:
        values.push_back(dense.data<bool>()[i]);
        break;
      default:
        values.push_back(dense.data<uint16_t>()[i]);
        break;
    }
  }
  return values;
}

}  // namespace headlight::io
