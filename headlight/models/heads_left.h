// Which heads of a pruned model are left: "headlight_heads" of a folder's config.json.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/io/io.h"
#include "headlight/nn/nn.h"

namespace headlight::models {

// By the public name of an attention, "decoder.0.self"; one that is absent has all its heads, an
// empty list none.
using HeadsLeft = std::map<std::string, nn::HeadNumbers, std::less<>>;

// An attention of a configuration, and how many heads it has when none is pruned.
struct AttentionHeads {
  std::string place;
  int64_t heads = 0;
};

// For TransformerBlockOptions.
std::optional<nn::HeadNumbers> left_at(const HeadsLeft& left, const std::string& place);
// How many of the `heads` at this place are left.
int64_t count_left(const HeadsLeft& left, const std::string& place, int64_t heads);

// Without entries that name all heads. Throws Error(bad_input) for a place that is none of `all`,
// and for numbers that are not ascending or not among the heads there. `what` and `key`, before the
// place, are for errors.
HeadsLeft checked_heads_left(HeadsLeft left, const std::vector<AttentionHeads>& all,
                             std::string_view what, const std::string& key = {});

// From a configuration and into it. Absent, or null: all heads. `path` is for errors.
HeadsLeft read_heads_left(const io::Json& config, const std::string& path,
                          const std::vector<AttentionHeads>& all);
void write_heads_left(io::Json::Object& config, const HeadsLeft& left,
                      const std::vector<AttentionHeads>& all);

}  // namespace headlight::models
