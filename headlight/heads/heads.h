// Door of heads: experiments on the attention heads of models. Heads by name (HeadName), what they
// look at in a run (head_statistics), what they are worth and do over examples (score), what the
// loss is without them (ablation), which of them carry a relation between tokens (find), what they
// and all other parts add to a logit (attribution) or to every one (pushes), what each layer would
// say (logit_lens), what comes back when a head is taken from another run (patching); heads
// switched off for a run (HeadsOff), and models that have lost some for good (pruned_model): which
// ones can go (gates, removal_order), what that does to a model (prune, curve) and how much faster
// it gets (speed).
//
// Experiments take a model, examples (batches with targets) and, where they measure something else
// than the loss, a Metric. Results depend on the examples and the seed, not on threads, on which
// examples share a batch, nor on padding. The model is used by one experiment at a time and is as
// it was afterwards. Mistakes of the caller are Error(bad_input).
#pragma once

#include "headlight/heads/ablation.h"
#include "headlight/heads/attention_heads.h"
#include "headlight/heads/attribution.h"
#include "headlight/heads/behaviour.h"
#include "headlight/heads/circuits.h"
#include "headlight/heads/curve.h"
#include "headlight/heads/eigenvalues.h"
#include "headlight/heads/examples.h"
#include "headlight/heads/find.h"
#include "headlight/heads/gates.h"
#include "headlight/heads/head_map.h"
#include "headlight/heads/head_name.h"
#include "headlight/heads/head_statistics.h"
#include "headlight/heads/heads_off.h"
#include "headlight/heads/importance.h"
#include "headlight/heads/logit_lens.h"
#include "headlight/heads/logit_metric.h"
#include "headlight/heads/mean_attribution.h"
#include "headlight/heads/operation_count.h"
#include "headlight/heads/patching.h"
#include "headlight/heads/prune.h"
#include "headlight/heads/pruned_model.h"
#include "headlight/heads/pushes.h"
#include "headlight/heads/rank_correlation.h"
#include "headlight/heads/removal_order.h"
#include "headlight/heads/score.h"
#include "headlight/heads/speed.h"
#include "headlight/heads/watch.h"
