// FeedForward: two layers, and what can be seen between them.
#include "headlight/nn/feed_forward.h"

namespace headlight::nn {

FeedForward::FeedForward(const FeedForwardOptions& options)
    : options_(options),
      first_(options.first, {.inputs = options.width,
                             .outputs = options.hidden,
                             .bias = options.bias,
                             .layout = options.layout,
                             .activation = options.activation}),
      second_(options.second, {.inputs = options.hidden,
                               .outputs = options.width,
                               .bias = options.bias,
                               .layout = options.layout}) {}

Parameters FeedForward::parameters() const {
  Parameters all = first_.parameters();
  for (const ParameterHandle& parameter : second_.parameters()) all.push_back(parameter);
  return all;
}

Value FeedForward::forward(Context& context, const Value& x) const {
  const std::string& place = options_.place;
  Value hidden = first_.forward(context, x, autograd::place_name(place, "hidden"));
  hidden = autograd::intervene(context, place, "activated", hidden);
  autograd::observe(context, place, "activated", hidden);
  hidden = autograd::dropout(context, hidden, options_.hidden_dropout,
                             autograd::place_name(place, "activated"));
  Value output = autograd::dropout(context, second_.forward(context, hidden),
                                   options_.output_dropout, autograd::place_name(place, "output"));
  output = autograd::intervene(context, place, "output", output);
  autograd::observe(context, place, "output", output);
  return output;
}

}  // namespace headlight::nn
