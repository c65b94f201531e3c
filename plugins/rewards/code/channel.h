#pragma once

#include "sandbox.h"

#include <string>
#include <string_view>

namespace drift::code {

enum class MessageStatus {
  kMessage,
  kClosed,
  kCpuLimit,
  kWallLimit,
  kTooLong,  ///< more than kMaxMessageBytes announced: not read
};

/// Messages to and from a process: four bytes of length, the lowest first, and the content.
class Channel {
 public:
  explicit Channel(SandboxedProcess process) : process_(std::move(process)) {}

  /// Waits for the first message, H. False if it is anything else: the program could not start.
  bool ready();

  bool send(std::string_view content, const Deadline& until);
  MessageStatus receive(std::string& content, const Deadline& until);

  SandboxedProcess& process() { return process_; }

 private:
  MessageStatus fill(std::size_t bytes, const Deadline& until);

  SandboxedProcess process_;
  std::string received_;  ///< not yet taken
};

}  // namespace drift::code
