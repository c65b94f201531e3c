#include "bench/counterpart.h"

#include <unistd.h>

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
