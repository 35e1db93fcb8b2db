// Door of autograd: Context, Value, Tape, Observer, Intervention and the differentiable operations
// of ops/. An operation takes the Context first, checks its shapes (Error bad_input with the
// numbers), runs the kernel and, when the Context has a tape and an input wants a gradient, records
// its backward. Without a tape nothing is kept: that is inference.
#pragma once

#include "headlight/autograd/context.h"
#include "headlight/autograd/observer.h"
#include "headlight/autograd/ops/add.h"
#include "headlight/autograd/ops/additive_attention.h"
#include "headlight/autograd/ops/attention.h"
#include "headlight/autograd/ops/cross_entropy.h"
#include "headlight/autograd/ops/dropout.h"
#include "headlight/autograd/ops/embedding.h"
#include "headlight/autograd/ops/gated_product.h"
#include "headlight/autograd/ops/layer_norm.h"
#include "headlight/autograd/ops/linear.h"
#include "headlight/autograd/ops/linear_cross_entropy.h"
#include "headlight/autograd/ops/mean_rows.h"
#include "headlight/autograd/ops/residual_norm.h"
#include "headlight/autograd/ops/rms_norm.h"
#include "headlight/autograd/ops/rotate.h"
#include "headlight/autograd/ops/scale.h"
#include "headlight/autograd/ops/softmax.h"
#include "headlight/autograd/ops/take_heads.h"
#include "headlight/autograd/ops/view.h"
#include "headlight/autograd/recording.h"
#include "headlight/autograd/report.h"
#include "headlight/autograd/tape.h"
#include "headlight/autograd/value.h"
