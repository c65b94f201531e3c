#include "bench/counterpart.h"

#include <unistd.h>

#include <fstream>
#include <iostream>
#include <stdexcept>

namespace drift::bench {

Counterpart::Counterpart(const std::vector<std::string>& arguments, const std::vector<std::string>& variables) {
  Pipe down = make_pipe(), up = make_pipe();
  ChildCommand command{
      .arguments = {"/proc/self/exe"},
      .environment = environment_with(variables),
      .descriptors = {
          {down.read.get(), STDIN_FILENO}, {up.write.get(), STDOUT_FILENO}, {STDERR_FILENO, STDERR_FILENO}}};
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  process_ = ChildProcess(command);
  to_ = std::move(down.write);
  from_ = std::move(up.read);
}

std::string Counterpart::ask(const std::string& line) {
  const std::string question = line + "\n";
  std::string answer;
  char c = 0;
  if (::write(to_.get(), question.data(), question.size()) == static_cast<ssize_t>(question.size())) {
    for (; ::read(from_.get(), &c, 1) == 1 && c != '\n';) answer.push_back(c);
  }
  if (c != '\n') throw std::runtime_error("the process that measures `" + line + "` has ended");
  return answer;
}

boost::program_options::typed_value<std::vector<std::string>>* list_option(std::vector<std::string>& values,
                                                                           const std::vector<std::string>& all) {
  return boost::program_options::value(&values)->multitoken()->default_value(all, "all");
}

void Comparison::add_to(boost::program_options::options_description& known) {
  namespace options = boost::program_options;
  auto add = known.add_options();
  add("shape", list_option(shapes, {"head_heavy", "balanced"}));
  add("dtype", list_option(types, {"float32", "bfloat16"}));
  add("rounds", options::value(&rounds)->default_value(1));
  add("threads", options::value(&threads)->default_value(2));
  add("device", options::value(&device)->default_value("cpu"));
  add("drift-only", options::bool_switch(&drift_only));
  add("set", list_option(assignments, {}));
  add("json", options::value(&json));
  add("serve", options::value(&serve));
}

std::vector<std::string> Comparison::arguments(const std::string& side, const std::string& shape,
                                               const std::string& type) const {
  std::vector<std::string> list{"--serve", side,       "--shape", shape,       "--dtype",
                                type,      "--device", device,    "--threads", std::to_string(threads)};
  if (drift_only) list.push_back("--drift-only");
  if (!assignments.empty()) list.push_back("--set");
  list.insert(list.end(), assignments.begin(), assignments.end());
  return list;
}

std::unique_ptr<Counterpart> Comparison::side(const std::string& name, const std::string& shape,
                                              const std::string& type, const std::vector<std::string>& more) const {
  auto list = arguments(name, shape, type);
  list.insert(list.end(), more.begin(), more.end());
  return std::make_unique<Counterpart>(list, name == "plain"
                                                 ? std::vector<std::string>{"GLIBC_TUNABLES=glibc.malloc.perturb=0"}
                                                 : std::vector<std::string>{});
}

void Comparison::write(const nlohmann::json& result) const {
  if (!json.empty()) std::ofstream(json, std::ios::app) << result.dump() << "\n";
}

nlohmann::json ask(Counterpart& child, const std::string& line) {
  auto json = nlohmann::json::parse(child.ask(line));
  if (json.contains("error")) throw std::runtime_error(line + ": " + json["error"].get<std::string>());
  return json;
}

void serve_lines(const std::function<nlohmann::json(const std::string&)>& answer) {
  for (std::string line; std::getline(std::cin, line);) {
    nlohmann::json json;
    try {
      json = answer(line);
    } catch (const std::exception& error) {
      json = {{"error", error.what()}};
    }
    std::cout << json.dump() << std::endl;
  }
}

}  // namespace drift::bench
