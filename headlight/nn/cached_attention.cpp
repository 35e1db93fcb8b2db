// MultiHeadAttention with a KvCache: decoding row by row, and cross-attention over what stays.
#include <string>

#include "headlight/nn/multi_head_attention.h"

namespace headlight::nn {
namespace {

using base::Error;
using base::ErrorKind;
using tensor::Tensor;

[[noreturn]] void refuse_cached(const std::string& place, const std::string& why) {
  throw Error(ErrorKind::bad_input, "attention with a cache", place, why);
}

// Checked before anything is appended.
void check_cached_call(const Context& context, const AttentionOptions& call,
                       const std::string& place) {
  if (context.tape != nullptr) refuse_cached(place, "has no gradients: use it without a tape");
  if (call.valid_lens.defined())
    refuse_cached(place, "valid_lens are the cache's lengths, give none");
}

}  // namespace

Value MultiHeadAttention::forward(Context& context, const Value& x, KvCache& cache,
                                  const AttentionOptions& call) const {
  check_cached_call(context, call, options_.place);
  if (call.past.defined()) refuse_cached(options_.place, "past is what the cache holds, give none");
  if (heads_.count() == 0) return without_heads(context, x, call);
  const Projected projected = project(context, x, x, x);
  AttentionOptions options = call;
  if (!cache.empty()) options.past = cache.lengths();
  const Value queries = prepared(context, kQuery, projected[kQuery], options.past);
  const Value keys = prepared(context, kKey, projected[kKey], options.past);
  cache.append(context, keys.data(), projected[kValue].data(), heads_.kv_count(), call.query_lens);
  return attend_cached(context, queries, cache, options);
}

void MultiHeadAttention::remember(Context& context, const Value& key, const Value& value,
                                  KvCache& cache, const Tensor& lens) const {
  if (heads_.count() == 0) return;
  if (options_.names.interleaved) refuse_cached(options_.place, "is of self-attention alone");
  Projected projected;
  project_key_value(context, key, value, projected);
  name_projected(context, projected);
  const Value keys = prepared(context, kKey, projected[kKey], cache.lengths());
  cache.append(context, keys.data(), projected[kValue].data(), heads_.kv_count(), lens);
}

Value MultiHeadAttention::recall(Context& context, const Value& query, const KvCache& cache,
                                 const AttentionOptions& call) const {
  check_cached_call(context, call, options_.place);
  if (heads_.count() == 0) return without_heads(context, query, call);
  if (!cache.lengths().defined()) refuse_cached(options_.place, "nothing has been remembered yet");
  const Projected projected = {inputs_[kQuery].forward(context, query)};
  name_projected(context, projected);
  return attend_cached(context, prepared(context, kQuery, projected[kQuery], call.past), cache,
                       call);
}

Value MultiHeadAttention::attend_cached(Context& context, const Value& query, const KvCache& cache,
                                        const AttentionOptions& call) const {
  AttentionOptions options = op_options(context, call);
  options.valid_lens = cache.lengths();
  return finish(context, Value::leaf(autograd::cached_attention(context, query.data(), cache.view(),
                                                                options)));
}

}  // namespace headlight::nn
