#include "channel.h"

#include "wire.h"

namespace drift::code {
namespace {

constexpr std::size_t kSizeBytes = 4;
constexpr std::size_t kPieceBytes = 1 << 16;
// An interpreter starts in 0.02 s of processor time; the rest is for machines that are busy with other things.
constexpr double kStartCpuSeconds = 10;
constexpr double kStartWallSeconds = 120;

}  // namespace

bool Channel::ready() {
  std::string first;
  const auto until = process_.deadline(kStartCpuSeconds, kStartWallSeconds);
  return receive(first, until) == MessageStatus::kMessage && first == "H";
}

bool Channel::send(std::string_view content, const Deadline& until) {
  std::string framed;
  framed.reserve(kSizeBytes + content.size());
  for (std::size_t i = 0; i < kSizeBytes; ++i) framed += static_cast<char>(content.size() >> (8 * i) & 0xFF);
  framed += content;
  return process_.send(framed, until);
}

MessageStatus Channel::receive(std::string& content, const Deadline& until) {
  if (const auto status = fill(kSizeBytes, until); status != MessageStatus::kMessage) return status;
  std::size_t size = 0;
  for (std::size_t i = 0; i < kSizeBytes; ++i) {
    size |= std::size_t{static_cast<unsigned char>(received_[i])} << (8 * i);
  }
  if (size > kMaxMessageBytes) return MessageStatus::kTooLong;
  if (const auto status = fill(kSizeBytes + size, until); status != MessageStatus::kMessage) return status;
  content = received_.substr(kSizeBytes, size);
  received_.erase(0, kSizeBytes + size);
  return MessageStatus::kMessage;
}

MessageStatus Channel::fill(std::size_t bytes, const Deadline& until) {
  while (received_.size() < bytes) {
    switch (process_.receive(received_, kPieceBytes, until)) {
      case ReadStatus::kData: break;
      case ReadStatus::kClosed: return MessageStatus::kClosed;
      case ReadStatus::kCpuLimit: return MessageStatus::kCpuLimit;
      case ReadStatus::kWallLimit: return MessageStatus::kWallLimit;
    }
  }
  return MessageStatus::kMessage;
}

}  // namespace drift::code
