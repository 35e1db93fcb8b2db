// What the body of POST /api/trace asks for.
#pragma once

#include <string>
#include <vector>

#include "headlight/narrate/narrate.h"

namespace headlight::server::studio {

struct TraceOrder {
  std::string model;  // an id; "worked"
  narrate::ExplainRequest request = {};
};

class BodyFields;
// The field "sentences", [{"source", "target"}]; empty where it is absent.
std::vector<recipes::SentencePair> read_sentences(BodyFields& body);

// Throws HttpError 400 that names the field.
TraceOrder read_trace_order(const std::string& body);

}  // namespace headlight::server::studio
