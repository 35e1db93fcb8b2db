// Door of recipes: from what a user asks for to a run. Presets and keys, task + tokenizer + model +
// trainer from them, runs, exams of generated tasks, evaluation, the worked model and its training,
// models that come with Headlight, a model's tokenizer and chat template, conversations,
// experiments on heads, questions about logits, folders of pruned models. What a command line, a
// server and Python share; nothing here knows argv or a terminal.
//
//   recipes::FilesWithEmbedded files;
//   recipes::train_model(threads, files,
//                        {.folder = "copy", .values = recipes::train_values({{"task", "copy"}})},
//                        {.evaluation = [](const recipes::TrainEvaluation& event) { ... }});
//   const recipes::LoadedModel model = recipes::load_named_model(files, "copy");
//
// Calls share nothing; threads and files that are handed in outlive them. Words that mean nothing
// are Error(usage), data and folders that do not fit Error(bad_input).
#pragma once

#include "headlight/recipes/classification.h"
#include "headlight/recipes/conversation.h"
#include "headlight/recipes/convert_model.h"
#include "headlight/recipes/decoding.h"
#include "headlight/recipes/embedded.h"
#include "headlight/recipes/evaluation.h"
#include "headlight/recipes/exact_match.h"
#include "headlight/recipes/experiment_state.h"
#include "headlight/recipes/forward_memory.h"
#include "headlight/recipes/gguf_information.h"
#include "headlight/recipes/given_values.h"
#include "headlight/recipes/habits.h"
#include "headlight/recipes/head_examples.h"
#include "headlight/recipes/head_experiments.h"
#include "headlight/recipes/head_pruning.h"
#include "headlight/recipes/heads_study.h"
#include "headlight/recipes/id_arrays.h"
#include "headlight/recipes/job_work.h"
#include "headlight/recipes/kept_results.h"
#include "headlight/recipes/little_stories.h"
#include "headlight/recipes/logit_questions.h"
#include "headlight/recipes/model_copy.h"
#include "headlight/recipes/model_information.h"
#include "headlight/recipes/named_model.h"
#include "headlight/recipes/next_words.h"
#include "headlight/recipes/pruning_data.h"
#include "headlight/recipes/reference_numbers.h"
#include "headlight/recipes/sentence_settings.h"
#include "headlight/recipes/spread_work.h"
#include "headlight/recipes/task_models.h"
#include "headlight/recipes/task_sources.h"
#include "headlight/recipes/train_events.h"
#include "headlight/recipes/train_keys.h"
#include "headlight/recipes/train_run.h"
#include "headlight/recipes/train_settings.h"
#include "headlight/recipes/train_setup.h"
#include "headlight/recipes/typed_prompt.h"
#include "headlight/recipes/typed_words.h"
#include "headlight/recipes/word_pairs.h"
#include "headlight/recipes/worked_model.h"
#include "headlight/recipes/worked_training.h"
