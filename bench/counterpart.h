#pragma once

#include <core/base/child_process.h>

#include <c10/core/ScalarType.h>

#include <boost/program_options.hpp>
#include <nlohmann/json.hpp>

#include <functional>
#include <memory>
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

/// What a benchmark of two sides is asked to compare: Drift, and an original in plain LibTorch.
struct Comparison {
  std::vector<std::string> shapes, types, assignments;
  int rounds = 0, threads = 0;
  bool drift_only = false;
  std::string device;
  std::string serve;  ///< of a child: which side it is
  std::string json;   ///< the file that gets each case as a line

  /// Declares its options.
  void add_to(boost::program_options::options_description& known);
  /// Options of the child that is one side of one case.
  std::vector<std::string> arguments(const std::string& side, const std::string& shape, const std::string& type) const;
  /// That child, with `more` arguments. The original's has the allocator as it is: any setting of the user's own leaves
  /// it so, and the one that is made changes nothing.
  std::unique_ptr<Counterpart> side(const std::string& name, const std::string& shape, const std::string& type,
                                    const std::vector<std::string>& more) const;
  /// Adds a case to the file, if there is to be one.
  void write(const nlohmann::json& result) const;
  /// Of a child.
  at::ScalarType type() const { return types.front() == "float32" ? at::kFloat : at::kBFloat16; }
};
boost::program_options::typed_value<std::vector<std::string>>* list_option(std::vector<std::string>& values,
                                                                           const std::vector<std::string>& all);

/// What it answers, as JSON. @throws std::runtime_error if that is an error.
nlohmann::json ask(Counterpart& child, const std::string& line);

/// The other side: answers each line of standard input; what is thrown becomes an error of that line.
void serve_lines(const std::function<nlohmann::json(const std::string& line)>& answer);

}  // namespace drift::bench
