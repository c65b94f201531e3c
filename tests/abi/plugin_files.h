#pragma once

// Plugin files for the tests: the good ones of the build, and variants of them with a few bytes changed.

#include <drift/abi.h>

#include <tests/support/support.h>

#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace drift::test {

inline std::filesystem::path built_plugin(const std::string& name) {
  return build_dir() / "tests" / "plugins" / ("lib" + name + ".so");
}

/// Bytes of a plugin's file, to be changed and written under another name.
class PluginBytes {
 public:
  explicit PluginBytes(const std::string& name) : bytes_(read_file(built_plugin(name))) {
    offset_ = bytes_.find(std::string(DRIFT_PLUGIN_MAGIC) + std::string(4, '\0'));
    if (offset_ == std::string::npos) throw std::runtime_error("no descriptor in plugin " + name);
  }

  DriftPluginDescriptor descriptor() const {
    DriftPluginDescriptor descriptor;
    std::memcpy(&descriptor, bytes_.data() + offset_, sizeof(descriptor));
    return descriptor;
  }
  void set_descriptor(const DriftPluginDescriptor& descriptor) {
    std::memcpy(bytes_.data() + offset_, &descriptor, sizeof(descriptor));
  }
  std::string& bytes() { return bytes_; }

 private:
  std::string bytes_;
  std::size_t offset_;
};

}  // namespace drift::test
