// Door of ranks: the other processes of the same run, and exchange with them in a fixed order.
#pragma once

#include "headlight/ranks/collectives.h"
#include "headlight/ranks/group.h"
#include "headlight/ranks/launcher.h"
#include "headlight/ranks/link.h"
#include "headlight/ranks/messenger.h"
#include "headlight/ranks/process_state.h"
#include "headlight/ranks/shares.h"
