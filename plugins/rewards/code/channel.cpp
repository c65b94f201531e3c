#include "channel.h"

#include "wire.h"

#include <drift/error.h>

namespace drift::code {
namespace {

constexpr std::size_t kPieceBytes = 1 << 16;
// An interpreter starts in 0.02 s of processor time; the rest is for machines that are busy with other things.
constexpr double kStartCpuSeconds = 10;
constexpr double kStartWallSeconds = 120;

SandboxedProcess started(const Sandbox& sandbox, const SandboxedProgram& program) {
  try {
    return sandbox.start(program);
  } catch (const drift::Error& error) {
    throw InfrastructureError{error.what()};
  }
}

}  // namespace

Channel::Channel(const Sandbox& sandbox, const SandboxedProgram& program, const char* silence)
    : process_(started(sandbox, program)) {
  std::string first;
  const auto until = process_.deadline(kStartCpuSeconds, kStartWallSeconds);
  if (receive(first, until) != ReadStatus::kData || first != "H") throw InfrastructureError{silence};
}

bool Channel::send(std::string_view content, const Deadline& until) {
  std::string framed;
  framed.reserve(kSizeBytes + content.size());
  append_size(framed, content.size());
  framed += content;
  return process_.send(framed, until);
}

ReadStatus Channel::receive(std::string& content, const Deadline& until) {
  if (const auto status = fill(kSizeBytes, until); status != ReadStatus::kData) return status;
  const std::size_t size = size_at(received_);
  if (size > kMaxMessageBytes) return ReadStatus::kTooLong;
  if (const auto status = fill(kSizeBytes + size, until); status != ReadStatus::kData) return status;
  content = received_.substr(kSizeBytes, size);
  received_.erase(0, kSizeBytes + size);
  return ReadStatus::kData;
}

ReadStatus Channel::fill(std::size_t bytes, const Deadline& until) {
  auto status = ReadStatus::kData;
  while (received_.size() < bytes && status == ReadStatus::kData) {
    status = process_.receive(received_, kPieceBytes, until);
  }
  return status;
}

}  // namespace drift::code
