// Reading what launchers set, and loading the shared object.
#include "headlight/ranks/launcher.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "headlight/base/base.h"

namespace headlight::ranks {
namespace {

using base::Error;
using base::ErrorKind;

constexpr const char* kLibrary = "libheadlight_mpi.so";
constexpr const char* kStepOfSrun = "SLURM_STEP_NUM_TASKS";

std::optional<int> number_in_environment(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  int number = 0;
  const char* end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, number);
  if (error != std::errc() || stop != end || number < 0) return std::nullopt;
  return number;
}

std::string folder_of_program() {
  std::array<char, 4096> path;
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
  if (length <= 0) return ".";
  return base::directory_of(std::string(path.data(), static_cast<size_t>(length)));
}

[[noreturn]] void refuse_library(const Launch& launch, const std::string& why) {
  throw Error(ErrorKind::failed, "MPI", kLibrary,
              why +
                  "; a launcher has started this process, and several ranks need Debian's "
                  "libopenmpi-dev and openmpi-bin on every machine: install them and build again, "
                  "or unset " +
                  launch.said_by + " where no launcher is meant");
}

}  // namespace

std::optional<Launch> launch_of_this_process() {
  constexpr std::array<std::array<const char*, 2>, 3> kNames = {
      {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
       {"PMI_RANK", "PMI_SIZE"},
       {"PMIX_RANK", kStepOfSrun}}};
  for (const auto& [rank, count] : kNames) {
    const auto ranks = number_in_environment(count);
    const auto own = number_in_environment(rank);
    // A size alone may be a mistake of the environment: MPI tells.
    const bool is_launched = ranks && *ranks > 0 && (own || rank != kNames.back().front());
    if (is_launched) return Launch{own.value_or(0), *ranks, count};
  }
  return std::nullopt;
}

int unconnected_processes() {
  if (launch_of_this_process() || !number_in_environment("SLURM_PROCID")) return 1;
  return std::max(1, number_in_environment(kStepOfSrun).value_or(1));
}

std::unique_ptr<Link> load_mpi(const Launch& launch) {
  const std::string folder = folder_of_program();
  std::string why = "is neither beside the program nor in ../lib/headlight";
  for (const std::string& place : {folder, folder + "/../lib/headlight"}) {
    const std::string path = place + "/" + kLibrary;
    if (access(path.c_str(), F_OK) != 0) continue;
    // Global: the library's own plug-ins look its symbols up. Never unloaded: its threads may live.
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
    if (library == nullptr) {
      const char* error = dlerror();
      refuse_library(launch, std::string("cannot be loaded: ") + (error == nullptr ? "" : error));
    }
    const auto make = reinterpret_cast<MakeLink>(dlsym(library, kMakeLinkName));
    Link* link = make == nullptr ? nullptr : make(kLinkVersion);
    if (link != nullptr) return std::unique_ptr<Link>(link);
    why = "belongs to another version of the program";
  }
  refuse_library(launch, why);
}

}  // namespace headlight::ranks
