// Launcher: whether mpirun or another launcher started this process as one rank of several, and the
// MPI library behind it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "headlight/ranks/link.h"

namespace headlight::ranks {

struct Launch {
  int rank = 0;
  int count = 1;
  std::string said_by = {};  // the variable that holds the count
};

// By what launchers set: OMPI_COMM_WORLD_SIZE and _RANK (mpirun), PMI_SIZE and PMI_RANK (hydra,
// srun with PMI-2), or PMIX_RANK and SLURM_STEP_NUM_TASKS (srun with PMIx). Nothing where none has
// started this process.
std::optional<Launch> launch_of_this_process();

// How many processes srun has started without telling them of each other, as it does where it is
// not asked for PMIx: each would work alone. 1 where none of this is so.
int unconnected_processes();

// MPI's link, from the shared object beside the program (or in ../lib/headlight). Throws
// Error(failed) naming the package where it cannot be loaded.
std::unique_ptr<Link> load_mpi(const Launch& launch);

}  // namespace headlight::ranks
