// Door of base: errors, threads, random numbers, files.
#pragma once

#include "headlight/base/error.h"
#include "headlight/base/file.h"
#include "headlight/base/random.h"
#include "headlight/base/threads.h"
