// Door of base: errors, threads, random numbers, files, memory, words that were meant.
#pragma once

#include "headlight/base/error.h"
#include "headlight/base/file.h"
#include "headlight/base/memory.h"
#include "headlight/base/nearest.h"
#include "headlight/base/random.h"
#include "headlight/base/threads.h"
