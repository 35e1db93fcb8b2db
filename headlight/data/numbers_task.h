// The task `numbers`, and what it shares with the others. For data's own use.
#pragma once

#include "headlight/data/generated_task.h"

namespace headlight::data {

std::vector<std::string> task_special_tokens();

std::unique_ptr<GeneratedTask> numbers_task();

}  // namespace headlight::data
