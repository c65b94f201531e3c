#pragma once

// A real Slurm: one node, this machine.

#include "tests/support/support.h"

#include <core/base/child_process.h>

namespace drift::test {

/// munged, slurmctld and slurmd with a configuration, ports and a socket of their own, in a temporary folder. They and
/// their jobs end with the object, and with the test's process if that is killed.
class SlurmCluster {
 public:
  /// One, or none and why there can be none here.
  static std::unique_ptr<SlurmCluster> if_possible(std::string& missing);

  /// Until the node takes jobs. @throws std::runtime_error with the daemons' logs if it does not within a minute
  SlurmCluster();
  ~SlurmCluster();
  SlurmCluster(const SlurmCluster&) = delete;
  SlurmCluster& operator=(const SlurmCluster&) = delete;

  /// What its commands need to find it: "SLURM_CONF=…".
  const std::string& environment() const { return environment_; }
  /// A command of Slurm. @return its standard output
  std::string run(const std::string& command) const;

 private:
  static std::string missing();
  void write_configuration() const;
  void start(const std::vector<std::string>& command);
  bool takes_jobs() const;
  std::string logs() const;

  TemporaryFolder folder_;
  std::string environment_ = "SLURM_CONF=" + (folder_.path() / "slurm.conf").string();
  std::vector<ChildProcess> daemons_;
};

}  // namespace drift::test
