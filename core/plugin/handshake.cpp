#include <core/plugin/handshake.h>

#include <core/plugin/elf_file.h>
#include <core/report/text_table.h>

#include <drift/pure.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace drift {
namespace {

// Up to here a descriptor has the same layout in every ABI, whatever its major number.
constexpr std::size_t kPrefix = offsetof(DriftPluginDescriptor, tier);

std::string version_text(const DriftPluginDescriptor& d) {
  return std::to_string(d.abi_major) + "." + std::to_string(d.abi_minor);
}

std::string sanitizer_text(std::uint32_t bits) {
  if (bits == 0) return "none";
  std::string text;
  if ((bits & DRIFT_SANITIZER_ADDRESS) != 0) text += "address ";
  if ((bits & DRIFT_SANITIZER_THREAD) != 0) text += "thread ";
  if ((bits & ~(DRIFT_SANITIZER_ADDRESS | DRIFT_SANITIZER_THREAD)) != 0) text += "unknown ";
  text.pop_back();
  return text;
}

std::string on_off(std::uint32_t flag) { return flag != 0 ? "on" : "off"; }

static_assert(sizeof(DriftPureDescriptor) == 224 && offsetof(DriftPureDescriptor, tier) == kPrefix,
              "the descriptors of all tiers begin alike");

/// The descriptor of a plugin over plain arrays, its fields in the places of the other one.
DriftPluginDescriptor widened(const DriftPureDescriptor& pure) {
  DriftPluginDescriptor descriptor{};
  std::memcpy(&descriptor, &pure, offsetof(DriftPureDescriptor, name));
  std::memcpy(descriptor.name, pure.name, sizeof pure.name);
  std::memcpy(descriptor.version, pure.version, sizeof pure.version);
  std::memcpy(descriptor.licence, pure.licence, sizeof pure.licence);
  std::memcpy(descriptor.compiler, pure.compiler, sizeof pure.compiler);
  return descriptor;
}

/// The first `size` bytes at `bytes`, as the tier that they name has them.
DriftPluginDescriptor parsed(const void* bytes, std::size_t size) {
  DriftPluginDescriptor descriptor{};
  std::memcpy(&descriptor, bytes, std::min(size, sizeof(descriptor)));
  if (size <= kPrefix || descriptor.tier != DRIFT_TIER_PURE) return descriptor;
  DriftPureDescriptor pure{};
  std::memcpy(&pure, bytes, std::min(size, sizeof(pure)));
  return widened(pure);
}

}  // namespace

std::string tier_text(std::uint32_t tier) {
  switch (tier) {
    case DRIFT_TIER_TENSOR: return "tensor";
    case DRIFT_TIER_PURE: return "pure";
  }
  return "unknown (" + std::to_string(tier) + ")";
}

const DriftPluginDescriptor& host_descriptor() {
  static constexpr DriftPluginDescriptor descriptor = DRIFT_PLUGIN_DESCRIPTOR("drift", "", "");
  return descriptor;
}

std::string printable_text(const char* field, std::size_t size) {
  std::string text(field, strnlen(field, size));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

DriftPluginDescriptor read_descriptor(const std::filesystem::path& file) {
  const std::string section = read_section(file, DRIFT_PLUGIN_SECTION);
  if (section.empty()) {
    throw Error("`" + file.filename().string() +
                    "` is not a plugin: it is a shared library without a DRIFT_PLUGIN(…)\n  --> " + file.string(),
                "put DRIFT_PLUGIN(\"name\", \"version\", \"licence\") { … } into one of its sources");
  }
  const DriftPluginDescriptor descriptor = parsed(section.data(), section.size());
  const std::string magic(descriptor.magic, sizeof(descriptor.magic));
  if (section.size() < kPrefix ||
      magic.compare(0, sizeof(DRIFT_PLUGIN_MAGIC), DRIFT_PLUGIN_MAGIC, sizeof(DRIFT_PLUGIN_MAGIC)) != 0 ||
      descriptor.struct_size < kPrefix || descriptor.struct_size > section.size()) {
    throw Error("plugin file `" + file.filename().string() +
                    "` is damaged: its section " DRIFT_PLUGIN_SECTION " holds no valid descriptor\n  --> " +
                    file.string(),
                "build it or copy it again");
  }
  // What follows a shorter descriptor is not part of it.
  return parsed(section.data(), descriptor.struct_size);
}

DriftPluginDescriptor descriptor_in_memory(const void* bytes, const DriftPluginDescriptor& judged) {
  return parsed(bytes, judged.struct_size);
}

std::vector<HandshakeMismatch> judge(const DriftPluginDescriptor& host, const DriftPluginDescriptor& plugin) {
  std::vector<HandshakeMismatch> mismatches;
  const auto require = [&](bool fits, const char* field, const std::string& of_host, const std::string& of_plugin) {
    if (!fits) mismatches.push_back({field, of_host, of_plugin.empty() ? "none" : of_plugin});
  };
  const auto equal_text = [&](const char* field, const auto& of_host, const auto& of_plugin) {
    require(descriptor_text(of_host) == descriptor_text(of_plugin), field, descriptor_text(of_host),
            descriptor_text(of_plugin));
  };

  const auto require_named = [&] {
    require(plugin.name[0] != '\0', "name", "any", "none");
    require(plugin.version[0] != '\0', "version", "any", "none");
    require(plugin.licence[0] != '\0', "licence", "any", "none");
  };

  // A plugin over plain arrays depends on nothing but drift/pure.h.
  if (plugin.tier == DRIFT_TIER_PURE) {
    require(plugin.abi_major == DRIFT_PURE_MAJOR && plugin.abi_minor <= DRIFT_PURE_MINOR, "C interface",
            std::to_string(DRIFT_PURE_MAJOR) + "." + std::to_string(DRIFT_PURE_MINOR), version_text(plugin));
    require(plugin.struct_size == sizeof(DriftPureDescriptor), "descriptor",
            std::to_string(sizeof(DriftPureDescriptor)) + " bytes", std::to_string(plugin.struct_size) + " bytes");
    require_named();
    return mismatches;
  }
  require(plugin.abi_major == host.abi_major && plugin.abi_minor <= host.abi_minor, "core ABI", version_text(host),
          version_text(plugin));
  // Since ABI 1.0 a descriptor has at least these fields; it may have more.
  if (plugin.struct_size < sizeof(DriftPluginDescriptor)) {
    require(false, "descriptor", std::to_string(sizeof(DriftPluginDescriptor)) + " bytes",
            std::to_string(plugin.struct_size) + " bytes");
    return mismatches;
  }
  require(plugin.tier == host.tier, "tier", tier_text(host.tier), tier_text(plugin.tier));
  equal_text("LibTorch", host.libtorch_version, plugin.libtorch_version);
  require(plugin.cxx_abi_version == host.cxx_abi_version, "compiler ABI", std::to_string(host.cxx_abi_version),
          std::to_string(plugin.cxx_abi_version));
  equal_text("C++ library", host.standard_library, plugin.standard_library);
  require(plugin.cxx11_abi == host.cxx11_abi, "C++11 strings", on_off(host.cxx11_abi), on_off(plugin.cxx11_abi));
  require(plugin.standard_library_debug == host.standard_library_debug, "C++ library debug",
          on_off(host.standard_library_debug), on_off(plugin.standard_library_debug));
  require(plugin.sanitizers == host.sanitizers, "sanitizers", sanitizer_text(host.sanitizers),
          sanitizer_text(plugin.sanitizers));
  equal_text("platform", host.platform, plugin.platform);
  require_named();
  return mismatches;
}

Error refusal(const std::filesystem::path& file, const DriftPluginDescriptor& plugin,
              const std::vector<HandshakeMismatch>& mismatches) {
  const std::string name = descriptor_text(plugin.name);
  std::string what = "plugin `" + (name.empty() ? file.filename().string() : name) +
                     "` was built for another Drift\n  --> " + file.string();
  TextTable table{{"field", "this host", "the plugin"}};
  for (const HandshakeMismatch& row : mismatches) table.rows.push_back({row.field, row.host, row.plugin});
  what += "\n" + to_text(table, /*unicode=*/true, "       ");
  what.pop_back();
  return Error(
      what,
      "rebuild it against this SDK:  cmake -B build -DCMAKE_PREFIX_PATH=$(drift sdk --prefix) && cmake --build build");
}

}  // namespace drift
