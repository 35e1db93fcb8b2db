// All of Headlight: every module's door, for programs that use the library. What a module offers
// is in its door; a program that needs one module alone may include that instead.
#pragma once

#if __cplusplus < 202002L
#error "Headlight needs C++20: compile with -std=c++20, or link to headlight::headlight with CMake"
#endif

#include "headlight/autograd/autograd.h"
#include "headlight/base/base.h"
#include "headlight/data/data.h"
#include "headlight/explain/explain.h"
#include "headlight/heads/heads.h"
#include "headlight/infer/infer.h"
#include "headlight/io/io.h"
#include "headlight/kernels/kernels.h"
#include "headlight/models/models.h"
#include "headlight/narrate/narrate.h"
#include "headlight/nn/nn.h"
#include "headlight/optim/optim.h"
#include "headlight/ranks/ranks.h"
#include "headlight/recipes/recipes.h"
#include "headlight/tensor/tensor.h"
#include "headlight/text/text.h"
#include "headlight/train/train.h"
