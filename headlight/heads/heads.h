// Door of heads: what each attention head of a run looks at, measured from what the run said of
// itself (autograd::Recording); and attention without some of its heads. Mistakes of the caller are
// Error(bad_input).
#pragma once

#include "headlight/heads/head_statistics.h"
#include "headlight/heads/pruned.h"
