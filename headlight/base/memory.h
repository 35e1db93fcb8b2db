// How much memory there is left.
#pragma once

#include <cstdint>
#include <string>

namespace headlight::base {

class FileSystem;

// Bytes that this process can still get without pushing others out: what the kernel calls
// available, or less where a control group sets a limit. The largest number when the system does
// not say.
uint64_t available_memory(FileSystem& files);

// "12.3 GiB", "340.0 MiB": for people.
std::string memory_text(uint64_t bytes);

// Before anything large is asked for: Error(out_of_memory) about `what` at `where` when it needs
// more bytes than are available; `way_out` ends the message.
void check_memory(FileSystem& files, double bytes, const std::string& what,
                  const std::string& where, const std::string& way_out = "");

}  // namespace headlight::base
