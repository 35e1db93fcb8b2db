// Door of kernels: arithmetic on views. Kernels trust their views (sizes are checked above) and
// throw only when memory for scratch runs out. Each result's bits depend on its inputs and the
// instruction set alone.
#pragma once

#include "headlight/kernels/activation.h"
#include "headlight/kernels/adamw.h"
#include "headlight/kernels/additive_attention.h"
#include "headlight/kernels/attention.h"
#include "headlight/kernels/attention_parts.h"
#include "headlight/kernels/block_pool.h"
#include "headlight/kernels/cross_entropy.h"
#include "headlight/kernels/elementwise.h"
#include "headlight/kernels/execution.h"
#include "headlight/kernels/gated_product.h"
#include "headlight/kernels/matmul.h"
#include "headlight/kernels/normalization.h"
#include "headlight/kernels/probe.h"
#include "headlight/kernels/rotation.h"
