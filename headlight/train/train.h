// Door of train: tasks, the loop, whole-set losses, checkpoints, the record of a run.
//
// A run is a function of its options, its seed and its data: what happens at a step depends on the
// step's number alone, so a resumed run goes on with the bits of an uninterrupted one.
#pragma once

#include "headlight/train/checkpoint.h"
#include "headlight/train/checksum.h"
#include "headlight/train/curves.h"
#include "headlight/train/loop.h"
#include "headlight/train/run_log.h"
#include "headlight/train/shards.h"
#include "headlight/train/task.h"
#include "headlight/train/trainer.h"
