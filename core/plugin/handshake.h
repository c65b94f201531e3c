#pragma once

#include <drift/abi.h>
#include <drift/error.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace drift {

/// A field in which a plugin does not fit the host.
struct HandshakeMismatch {
  std::string field;
  std::string host;
  std::string plugin;
};

/// The build key of this libdrift, in the form in which plugins carry theirs.
const DriftPluginDescriptor& host_descriptor();

/// The descriptor in a plugin's file, without loading it. Fields that the file does not have are 0; those of a plugin
/// over plain arrays have other places there (drift/pure.h).
/// @throws Error if the file is not a plugin or is damaged.
DriftPluginDescriptor read_descriptor(const std::filesystem::path& file);

/// The descriptor that a loaded plugin refers to, read in the same way.
/// @param judged  what the file had
DriftPluginDescriptor descriptor_in_memory(const void* bytes, const DriftPluginDescriptor& judged);

/// "tensor" or "pure".
std::string tier_text(std::uint32_t tier);

/// Every field that keeps `plugin` from loading into `host`; empty if it may load.
std::vector<HandshakeMismatch> judge(const DriftPluginDescriptor& host, const DriftPluginDescriptor& plugin);

/// The one message for a plugin that judge() refused.
Error refusal(const std::filesystem::path& file, const DriftPluginDescriptor& plugin,
              const std::vector<HandshakeMismatch>& mismatches);

/// Text of a fixed length: ends at the first zero byte or at the end; anything unprintable becomes '?'.
std::string printable_text(const char* text, std::size_t size);

/// A text field of a descriptor.
template <std::size_t size>
std::string descriptor_text(const char (&field)[size]) {
  return printable_text(field, size);
}

}  // namespace drift
