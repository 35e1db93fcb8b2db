// NetworkNamespace: code that runs in another network than the rest of the program.
#pragma once

#include <functional>
#include <string>

namespace headlight::test {

// Does not own what it opens: a namespace of `ip netns` stays until `ip netns del`.
class NetworkNamespace {
 public:
  // A file such as those of `ip netns`. Throws std::runtime_error when it cannot be opened.
  explicit NetworkNamespace(const std::string& path);
  ~NetworkNamespace();
  NetworkNamespace(NetworkNamespace&& other) noexcept;
  NetworkNamespace& operator=(NetworkNamespace&&) = delete;

  // One without a name, that is gone with this object.
  static NetworkNamespace made_for_trying();

  // Calls it in a thread that is in this namespace, and waits for it; sockets and devices that it
  // makes stay there. What it throws is thrown here.
  void inside(const std::function<void()>& work) const;

 private:
  explicit NetworkNamespace(int file) : file_(file) {}

  int file_ = -1;
};

}  // namespace headlight::test
