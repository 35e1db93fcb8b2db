// Memory for tensors. An Arena keeps what is given back and hands it out again, so that in the
// steady state of training or decoding nothing is asked of the system and no page faults.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace headlight::tensor {

// A block of memory with 64-byte alignment, uninitialised. It goes back to where it came from when
// the last owner lets go.
using Block = std::shared_ptr<std::byte>;

// Thread-safe. Blocks may outlive the Arena.
class Arena {
 public:
  Arena();
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Throws Error(out_of_memory) with both numbers when the system refuses.
  Block allocate(size_t bytes);

  size_t bytes_in_use() const;    // held by live blocks
  size_t bytes_reserved() const;  // held from the system, free blocks included
  size_t peak_bytes() const;      // highest bytes_in_use so far

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// A block straight from the system, without an arena: for parameters and files.
Block allocate_block(size_t bytes);

// Gives the pages of `bytes` from `begin` on back to the system; what was there is lost, and the
// memory stays valid.
void discard(std::byte* begin, size_t bytes) noexcept;

}  // namespace headlight::tensor
