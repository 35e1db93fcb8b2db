// Door of infer: what repeats calls of a model without learning from them. Continuing prompts by
// greedy choice or sampling, beam search, outputs for many sources, sentence vectors, and many
// requests at once, which join and leave while others are being written.
//
// Prompts that come as a padded tensor with its mask become lists by unpadded().
//
// Results depend neither on threads nor on what else is in the batch, and are the same with the
// cache and without, to the bit. A call changes nothing but its Context; several threads may run
// the same model, each with its own Context.
#pragma once

#include "headlight/infer/beam_search.h"
#include "headlight/infer/generate.h"
#include "headlight/infer/outputs.h"
#include "headlight/infer/padding.h"
#include "headlight/infer/predict.h"
#include "headlight/infer/read_prompts.h"
#include "headlight/infer/request_batch.h"
#include "headlight/infer/sampler.h"
