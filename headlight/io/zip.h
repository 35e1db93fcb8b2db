// The records of a zip archive that are stored as they are. For io's own use.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "headlight/base/base.h"

namespace headlight::io {

// Where the bytes of a record lie in the archive.
struct ZipRecord {
  uint64_t offset = 0;
  uint64_t size = 0;
};

using ZipRecords = std::map<std::string, ZipRecord, std::less<>>;

// All records of an archive, zip64 included. Throws Error(bad_input), begun by `format`, for
// records that are compressed, encrypted, there twice, overlapping or not within the file.
ZipRecords read_zip(const base::Input& input, std::string_view format);

}  // namespace headlight::io
