// Processes of ranks on the same machine, as the kernel sees them: who has gone is known at once,
// without asking.
#pragma once

#include <string>

namespace headlight::ranks {

// Of this process, for other ranks: which kernel it belongs to, its number and when it started.
// Empty where that cannot be known.
std::string own_process();

enum class ProcessState { unknown, running, stopped, gone };
// `process` is what own_process() has given there. Of processes that this kernel does not show it
// is unknown.
ProcessState state_of(const std::string& process);

}  // namespace headlight::ranks
