// Door of heads: what each attention head of a run looks at, measured. It reads what a run said of
// itself (autograd::Recording); mistakes of the caller are Error(bad_input).
#pragma once

#include "headlight/heads/head_statistics.h"
