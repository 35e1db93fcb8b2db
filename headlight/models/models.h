// Door of models: GPT, encoder-decoder and BERT as configuration and forward pass, the registry of
// architectures, decoding with a cache, and model folders. Models hold handles on their parameters;
// running one from several threads, each with its own Context, is safe as long as nobody changes
// the parameters.
#pragma once

#include "headlight/models/architecture.h"
#include "headlight/models/bert.h"
#include "headlight/models/decoding.h"
#include "headlight/models/folder.h"
#include "headlight/models/gpt.h"
#include "headlight/models/heads_left.h"
#include "headlight/models/model.h"
#include "headlight/models/registry.h"
#include "headlight/models/seq2seq.h"
