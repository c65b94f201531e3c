#pragma once

#include <drift/error.h>
#include <drift/host.h>
#include <drift/pure.h>
#include <drift/random.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace drift {

/// The text that a plugin gave. @throws Error if it points nowhere.
std::string_view view_of(DriftText text);
/// A text that is lent to a plugin.
inline DriftText text_of(std::string_view text) { return {text.data(), text.size()}; }

/// A structure of a plugin, of an older or a newer version of the interface, as this host knows it: what it lacks is 0.
/// @param what  for messages: "view"
template <class Structure>
Structure as_known(const Structure* given, const char* what) {
  if (given == nullptr || given->size < sizeof(std::size_t))
    throw Error(std::string("a ") + what + (given == nullptr ? " is null" : " has no size"),
                "a structure of drift/pure.h begins with its sizeof");
  Structure known{};
  std::memcpy(&known, given, std::min(given->size, sizeof known));
  known.size = sizeof known;
  return known;
}

/// The stream that drift/pure.h stands for by its key, and back.
RandomStream stream_of(DriftStream stream);
inline DriftStream handle_of(const RandomStream& stream) { return {stream.key()}; }

/// The host that a plugin sees during one call. Its functions throw nothing: finish() reports the first mistake.
struct HostCall final : DriftHost {
  explicit HostCall(Host& component_host);
  HostCall(const HostCall&) = delete;
  HostCall& operator=(const HostCall&) = delete;

  /// Keeps the first error.
  void fail(Error found) {
    if (!failure) failure = std::move(found);
  }
  /// @param function  for messages: "evaluate()". @throws Error if the call failed.
  void finish(DriftStatus status, const char* function) const;

  Host& component_host;
  std::optional<Error> failure;
  // Where the results of this kind of call go.
  std::function<void(std::string_view name, double sum, double count)> take_metric;
  std::function<void(const DriftView&)> take_view;
  std::function<void(const DriftVerdict&)> take_verdict;
  std::function<void(const DriftItem&)> take_item;
};

}  // namespace drift
