// Door of data: tokens of texts, windows over them, sentence pairs, batches and generated tasks.
//
// Whatever is drawn depends only on the seed and the step (or epoch), so a run that is resumed sees
// what it would have seen. All objects may be read from several threads; PairBatches::batch may
// not. Bad data throws base::Error(bad_input).
#pragma once

#include "headlight/data/generated_task.h"
#include "headlight/data/hidden_words.h"
#include "headlight/data/lm_windows.h"
#include "headlight/data/masked_windows.h"
#include "headlight/data/number_words.h"
#include "headlight/data/pair_batches.h"
#include "headlight/data/pairs.h"
#include "headlight/data/token_stream.h"
