// AccessRules: who may ask. Host and Origin keep other web pages out, the key other people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "apps/server/http/options.h"
#include "apps/server/http/request_parser.h"

namespace headlight::server {

class AccessRules {
 public:
  // `port`: the one that was given to us.
  AccessRules(const ServerOptions& options, uint16_t port);

  // `authority`: of the request line where it has one. Throws HttpError: 400 without one Host, 403
  // for one that is not ours (a name that somebody's web page let point to us), or for a request
  // made by a page of another origin.
  void check_host(const RequestHead& head, std::string_view authority) const;
  // 401 where there is a key and the request has not got it.
  void check_key(const RequestHead& head) const;

 private:
  bool is_ours(std::string_view authority) const;
  bool is_allowed_name(std::string_view authority) const;

  std::vector<std::string> names_;    // with the port they need
  std::vector<std::string> allowed_;  // with any port
  std::string port_;
  bool takes_any_address_ = false;
  std::string key_;
};

}  // namespace headlight::server
