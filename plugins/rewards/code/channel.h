#pragma once

#include "sandbox.h"

#include <string>
#include <string_view>

namespace drift::code {

/// A process could not be started or did not come up: nothing that the code under test has done.
struct InfrastructureError {
  std::string reason;
};

/// A sandboxed process that exchanges messages (four bytes of length, the lowest first, and as many of content). The
/// length is not trusted: one above the limit is not read.
class Channel {
 public:
  /// Starts a program, which says first that it is ready: H.
  /// @throws InfrastructureError if it cannot be started, or says anything else: with `silence`
  Channel(const Sandbox& sandbox, const SandboxedProgram& program, const char* silence);

  /// False if the program closed its end, or does not read until the deadline.
  bool send(std::string_view content, const Deadline& until);
  /// kData: a whole message.
  ReadStatus receive(std::string& content, const Deadline& until);

  SandboxedProcess& process() { return process_; }

 private:
  ReadStatus fill(std::size_t bytes, const Deadline& until);

  SandboxedProcess process_;
  std::string received_;  ///< not yet taken
};

}  // namespace drift::code
