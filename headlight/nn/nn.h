// Door of nn: parameters and the modules made of them. A module holds handles on its Parameters and
// calls operations of autograd; copying a module shares the numbers. forward() may be called from
// several threads at a time, each with its own Context, as long as nobody changes the parameters.
// At module borders tensors are (B, T, C).
#pragma once

#include "headlight/nn/additive_attention.h"
#include "headlight/nn/attention_layout.h"
#include "headlight/nn/embedding.h"
#include "headlight/nn/feed_forward.h"
#include "headlight/nn/head_set.h"
#include "headlight/nn/kv_cache.h"
#include "headlight/nn/linear.h"
#include "headlight/nn/multi_head_attention.h"
#include "headlight/nn/norm.h"
#include "headlight/nn/output_layer.h"
#include "headlight/nn/parameter.h"
#include "headlight/nn/positions.h"
#include "headlight/nn/sequence_embedding.h"
#include "headlight/nn/state.h"
#include "headlight/nn/transformer_block.h"
#include "headlight/nn/transformer_stack.h"
