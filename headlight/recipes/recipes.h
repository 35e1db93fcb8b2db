// Door of recipes: from what a user asks for to a run. Presets and keys, task + tokenizer + model +
// trainer from them, exams of generated tasks, the worked model and its training, models that come
// with Headlight, a model's tokenizer, heads switched off by name. What a command line, a server
// and Python share; nothing here knows argv or a terminal.
#pragma once

#include "headlight/recipes/config_file.h"
#include "headlight/recipes/embedded.h"
#include "headlight/recipes/exact_match.h"
#include "headlight/recipes/given_values.h"
#include "headlight/recipes/heads_off.h"
#include "headlight/recipes/named_model.h"
#include "headlight/recipes/run_lock.h"
#include "headlight/recipes/task_models.h"
#include "headlight/recipes/train_keys.h"
#include "headlight/recipes/train_settings.h"
#include "headlight/recipes/train_setup.h"
#include "headlight/recipes/typed_words.h"
#include "headlight/recipes/worked_model.h"
#include "headlight/recipes/worked_training.h"
