#pragma once

#include <torch/headeronly/version.h>

#include <cstdint>
#include <version>

// The boundary between a plugin's file and the host: what the host reads from the file before any code of the plugin
// runs, and the one symbol that a plugin exports. Plain C data; grows only at its end (docs/plugin_abi.md).

/// Core ABI. A plugin loads if the major number is equal and its minor number is not above the host's.
#define DRIFT_ABI_MAJOR 1
#define DRIFT_ABI_MINOR 0

/// The section of the plugin's file that holds the descriptor, and the exported function.
#define DRIFT_PLUGIN_SECTION ".drift_plugin"
#define DRIFT_PLUGIN_SYMBOL "drift_plugin_entry"
#define DRIFT_PLUGIN_MAGIC "DRIFT PLUGIN"

extern "C" {

/// The kinds of boundary that a plugin can have. The numbers are never reused.
enum DriftPluginTier : std::uint32_t {
  DRIFT_TIER_TENSOR = 1,  ///< C++ classes of drift/*.h: needs an equal LibTorch and C++ ABI
  DRIFT_TIER_PURE = 2,    ///< plain arrays: another descriptor and another version (drift/pure.h)
};

/// Sanitizers that change the layout of memory; bits.
enum DriftSanitizer : std::uint32_t {
  DRIFT_SANITIZER_ADDRESS = 1,
  DRIFT_SANITIZER_THREAD = 2,
};

/// Identity and build key of a plugin. Without pointers, so that the bytes in the file are the values.
struct DriftPluginDescriptor {
  char magic[16];
  std::uint32_t struct_size;
  std::uint32_t abi_major;
  std::uint32_t abi_minor;
  std::uint32_t tier;
  std::uint32_t cxx_abi_version;         ///< __GXX_ABI_VERSION
  std::uint32_t cxx11_abi;               ///< _GLIBCXX_USE_CXX11_ABI
  std::uint32_t standard_library_debug;  ///< 1 with _GLIBCXX_DEBUG, whose containers have a different layout
  std::uint32_t sanitizers;
  char standard_library[16];
  char libtorch_version[32];
  char platform[32];
  char compiler[32];  ///< for information; never a reason to refuse
  char name[64];
  char version[32];
  char licence[64];
};

/// What the exported function returns. `registry` is a drift::Registry.
struct DriftPluginEntry {
  std::uint32_t struct_size;
  std::uint32_t reserved;
  const struct DriftPluginDescriptor* descriptor;
  void (*register_components)(void* registry);
};
}

static_assert(sizeof(DriftPluginDescriptor) == 320, "the descriptor of ABI 1.0 cannot change");
static_assert(sizeof(DriftPluginEntry) == 24, "the entry of ABI 1.0 cannot change");

// The build key of the file that is being compiled.
#define DRIFT_ABI_TEXT_(x) #x
#define DRIFT_ABI_TEXT(x) DRIFT_ABI_TEXT_(x)

#if defined(__clang__)
#define DRIFT_BUILD_COMPILER "clang " DRIFT_ABI_TEXT(__clang_major__) "." DRIFT_ABI_TEXT(__clang_minor__)
#else
#define DRIFT_BUILD_COMPILER "gcc " DRIFT_ABI_TEXT(__GNUC__) "." DRIFT_ABI_TEXT(__GNUC_MINOR__)
#endif

#if defined(__linux__) && defined(__x86_64__)
#define DRIFT_BUILD_PLATFORM "linux-x86_64"
#elif defined(__linux__) && defined(__aarch64__)
#define DRIFT_BUILD_PLATFORM "linux-aarch64"
#else
#error "Drift is built for Linux on x86_64 and aarch64"
#endif

#if defined(__GLIBCXX__)
#define DRIFT_BUILD_STANDARD_LIBRARY "libstdc++"
#define DRIFT_BUILD_CXX11_ABI _GLIBCXX_USE_CXX11_ABI
#else
#define DRIFT_BUILD_STANDARD_LIBRARY "other"
#define DRIFT_BUILD_CXX11_ABI 0
#endif

#if defined(_GLIBCXX_DEBUG)
#define DRIFT_BUILD_STANDARD_LIBRARY_DEBUG 1
#else
#define DRIFT_BUILD_STANDARD_LIBRARY_DEBUG 0
#endif

#if defined(__has_feature)
#define DRIFT_HAS_FEATURE(x) __has_feature(x)
#else
#define DRIFT_HAS_FEATURE(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || DRIFT_HAS_FEATURE(address_sanitizer)
#define DRIFT_BUILD_SANITIZERS DRIFT_SANITIZER_ADDRESS
#elif defined(__SANITIZE_THREAD__) || DRIFT_HAS_FEATURE(thread_sanitizer)
#define DRIFT_BUILD_SANITIZERS DRIFT_SANITIZER_THREAD
#else
#define DRIFT_BUILD_SANITIZERS 0
#endif

/// Initialiser of a DriftPluginDescriptor. The three arguments are string literals.
#define DRIFT_PLUGIN_DESCRIPTOR(NAME, VERSION, LICENCE)                                                      \
  {                                                                                                          \
    .magic = DRIFT_PLUGIN_MAGIC, .struct_size = sizeof(DriftPluginDescriptor), .abi_major = DRIFT_ABI_MAJOR, \
    .abi_minor = DRIFT_ABI_MINOR, .tier = DRIFT_TIER_TENSOR, .cxx_abi_version = __GXX_ABI_VERSION,           \
    .cxx11_abi = DRIFT_BUILD_CXX11_ABI, .standard_library_debug = DRIFT_BUILD_STANDARD_LIBRARY_DEBUG,        \
    .sanitizers = DRIFT_BUILD_SANITIZERS, .standard_library = DRIFT_BUILD_STANDARD_LIBRARY,                  \
    .libtorch_version = TORCH_VERSION, .platform = DRIFT_BUILD_PLATFORM, .compiler = DRIFT_BUILD_COMPILER,   \
    .name = NAME, .version = VERSION, .licence = LICENCE,                                                    \
  }
