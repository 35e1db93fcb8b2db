// Door of models: GPT, encoder-decoder, BERT and the decoders of other families as configuration
// and forward pass, the registry of architectures, decoding with a cache, and model folders. Models
// hold handles on their parameters; running one from several threads, each with its own Context, is
// safe as long as nobody changes the parameters.
#pragma once

#include "headlight/models/architecture.h"
#include "headlight/models/bert.h"
#include "headlight/models/bert_kin.h"
#include "headlight/models/classifier.h"
#include "headlight/models/decoder_model.h"
#include "headlight/models/decoding.h"
#include "headlight/models/encoder_decoder_model.h"
#include "headlight/models/encoder_model.h"
#include "headlight/models/folder.h"
#include "headlight/models/gpt.h"
#include "headlight/models/gpt_neo.h"
#include "headlight/models/gpt_neox.h"
#include "headlight/models/heads_left.h"
#include "headlight/models/llama.h"
#include "headlight/models/marian.h"
#include "headlight/models/model.h"
#include "headlight/models/model_request.h"
#include "headlight/models/modernbert.h"
#include "headlight/models/opt.h"
#include "headlight/models/registry.h"
#include "headlight/models/seq2seq.h"
#include "headlight/models/seq2seq_as_marian.h"
#include "headlight/models/t5.h"
