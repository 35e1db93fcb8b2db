// Door of optim: AdamW, Adam and SGD over nn's parameters, and schedules of the learning rate.
#pragma once

#include "headlight/optim/optimizer.h"
#include "headlight/optim/schedule.h"
