#include "bench/child_process.h"

#include <cstdlib>
#include <stdexcept>

#include <sys/wait.h>
#include <unistd.h>

namespace drift::bench {

ChildProcess::ChildProcess(const std::vector<std::string>& arguments, const std::vector<std::string>& variables) {
  int down[2], up[2];
  if (::pipe(down) != 0 || ::pipe(up) != 0) throw std::runtime_error("cannot create a pipe");
  id_ = ::fork();
  if (id_ < 0) throw std::runtime_error("cannot fork");
  if (id_ == 0) {
    ::dup2(down[0], STDIN_FILENO);
    ::dup2(up[1], STDOUT_FILENO);
    for (const int end : {down[0], down[1], up[0], up[1]}) ::close(end);
    std::vector<char*> list;
    for (const std::string& one : arguments) list.push_back(const_cast<char*>(one.c_str()));
    list.push_back(nullptr);
    for (const std::string& one : variables) ::putenv(const_cast<char*>(one.c_str()));
    ::execv("/proc/self/exe", list.data());
    ::_exit(127);
  }
  ::close(down[0]);
  ::close(up[1]);
  to_ = ::fdopen(down[1], "w");
  from_ = ::fdopen(up[0], "r");
}

ChildProcess::~ChildProcess() {
  std::fclose(to_);  // the child's end of input
  std::fclose(from_);
  ::waitpid(id_, nullptr, 0);
}

std::string ChildProcess::ask(const std::string& line) {
  std::fprintf(to_, "%s\n", line.c_str());
  std::fflush(to_);
  std::string answer;
  for (int c = std::fgetc(from_); c != '\n'; c = std::fgetc(from_)) {
    if (c == EOF) throw std::runtime_error("the process that measures `" + line + "` has ended");
    answer.push_back(static_cast<char>(c));
  }
  return answer;
}

}  // namespace drift::bench
