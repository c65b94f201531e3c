#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include <sys/types.h>

namespace drift::bench {

/// This program again, with other arguments, answering lines with lines: what two sides of a comparison do to their
/// memory stays apart.
class ChildProcess {
 public:
  /// @param variables  of the child's environment, as "NAME=VALUE", before those of this process
  explicit ChildProcess(const std::vector<std::string>& arguments, const std::vector<std::string>& variables = {});
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// @throws std::runtime_error if the child has ended.
  std::string ask(const std::string& line);

 private:
  pid_t id_ = -1;
  std::FILE* to_ = nullptr;
  std::FILE* from_ = nullptr;
};

}  // namespace drift::bench
