#pragma once

#include <core/ranks/ranks.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace drift {

/// The number of this process among those that a launcher (mpirun, srun with PMIx) has started for this run, by the
/// environment that it gives to each.
int launched_rank();

/// What to say where srun (without --mpi=pmix) or torchrun has started several processes, which do not find each other
/// and so are a run each; empty if none has.
std::string processes_apart();

/// @throws Error if a launcher has started several, which would all do what `drift COMMAND` does, in each other's way.
void require_one_process(const std::string& command);

/// What there is to run on several ranks with. `problem` is empty if it can be used.
struct TransportState {
  std::string text;     ///< "Open MPI v4.1.4, /usr/lib/…/libdrift_mpi.so"
  std::string problem;  ///< why there is none
};
TransportState transport_state();

/// The processes that a launcher has started for this run; once in a process. Nothing is loaded where there is but one.
/// @param report  as in Ranks
/// @throws Error if there are several and the transport cannot be loaded.
std::unique_ptr<Ranks> join_ranks(Ranks::Report report);

/// What must be the same on every rank, by name.
using Facts = std::vector<std::pair<std::string, std::string>>;

/// @throws Error, on every rank, that names the facts that differ and the ranks that have them otherwise.
void require_same_facts(Ranks& ranks, const Facts& facts);

/// How many ranks, this one included, may run on exactly the processors of this host that this one may run
/// on. A launcher gives each rank its own, or all of them the same.
int ranks_on_these_processors(Ranks& ranks);

}  // namespace drift
