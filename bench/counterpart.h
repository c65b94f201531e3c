#pragma once

#include <core/process/child_process.h>

#include <nlohmann/json.hpp>

#include <functional>
#include <string>
#include <vector>

namespace drift::bench {

/// This program again, with other arguments, answering lines with lines: what two sides of a comparison do to their
/// memory stays apart.
class Counterpart {
 public:
  /// @param variables  of its environment, as "NAME=VALUE", before those of this process
  explicit Counterpart(const std::vector<std::string>& arguments, const std::vector<std::string>& variables = {});

  /// @throws std::runtime_error if it has ended.
  std::string ask(const std::string& line);

 private:
  Descriptor to_, from_;
  ChildProcess process_;
};

/// What it answers, as JSON. @throws std::runtime_error if that is an error.
nlohmann::json ask(Counterpart& child, const std::string& line);

/// The other side: answers each line of standard input; what is thrown becomes an error of that line.
void serve_lines(const std::function<nlohmann::json(const std::string& line)>& answer);

}  // namespace drift::bench
