// exchange [wait SECONDS]: ranks of MPI say who they are, add up their numbers, and perhaps wait to
// be killed.
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int sum = 0;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  char host[64] = {};
  gethostname(host, sizeof(host) - 1);
  const char* word = std::getenv("TEST_WORD");
  std::printf("rank %d of %d on %s, sum %d, word %s\n", rank, size, host, sum,
              word != nullptr ? word : "none");
  std::fflush(stdout);
  if (argc > 2) sleep(static_cast<unsigned>(std::atoi(argv[2])));
  MPI_Finalize();
  return argc == 2 ? std::atoi(argv[1]) : 0;
}
