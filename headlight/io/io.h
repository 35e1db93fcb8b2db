// Door of io: array files, safetensors, PyTorch's checkpoints, GGUF, JSON, numbers as text.
//
// Readers take any bytes and give a result or one base::Error: bad_input for the file's fault,
// failed for an output that cannot be written, out_of_memory for a full disk. They compare what a
// file claims with its size before they ask for memory. No call shares state with another, so all
// may be used from several threads.
#pragma once

#include "headlight/io/arrays.h"
#include "headlight/io/checkpoint.h"
#include "headlight/io/gguf.h"
#include "headlight/io/json.h"
#include "headlight/io/json_array.h"
#include "headlight/io/numbers.h"
#include "headlight/io/safetensors.h"
#include "headlight/io/stored_tensors.h"
#include "headlight/io/utf8.h"
