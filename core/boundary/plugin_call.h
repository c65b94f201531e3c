#pragma once

// Every call into a plugin goes through here: while it lasts, the thread knows whose code is at work, and whatever it
// throws leaves as an error that names it.

#include <drift/component.h>
#include <drift/error.h>

#include <cstdint>
#include <string>

namespace drift {

struct ComponentEntry;
class RunHost;

/// What the core takes of the responses that a rollout writes.
enum class Taken {
  kUntilEnd,  ///< what stands behind a response's end is no longer valid
  kWhole,     ///< `after_end` of [rollout] keeps it
  kOriginal,  ///< also mask tokens, and ids that the model forbids: to compare with an original
};

/// Who is called.
struct Callee {
  std::string text;  ///< "rollout `block` of plugin `block`"
  Taken taken = Taken::kUntilEnd;
  RunHost* host = nullptr;  ///< of the run that it is called in; null: none
};
Callee callee(const ComponentEntry& entry, RunHost* host = nullptr);

/// From now on, until forget(), this is the component's name. Components that nobody named are the core's own.
void name_component(const Component& component, const Callee& callee);
void forget_component(const Component& component);
/// Null: it is the core's own.
const Callee* callee_of(const Component& component);

/// An error that names the plugin it came from. Calls further out leave it as it is: the innermost one is to blame.
class PluginError : public Error {
 public:
  using Error::Error;
};

/// While it lives, this thread is in `method` of `callee`, which outlives it. Calls nest.
class PluginCall {
 public:
  PluginCall(const Callee& callee, const char* method);
  ~PluginCall();
  PluginCall(const PluginCall&) = delete;
  PluginCall& operator=(const PluginCall&) = delete;

  const Callee& callee() const { return callee_; }
  const char* method() const { return method_; }

 private:
  const Callee& callee_;
  const char* method_;
  const PluginCall* outer_;
};

/// Throw what is being handled again, as a PluginError that names `callee` and `method`.
[[noreturn]] void throw_named(const Callee& callee, const char* method);

/// body(), recorded and named.
/// @param method  a string literal: "generate"
template <class Body>
decltype(auto) in_plugin(const Callee& callee, const char* method, const Body& body) {
  const PluginCall call(callee, method);
  try {
    return body();
  } catch (...) {
    throw_named(callee, method);
  }
}

/// A component of the core itself is not named.
template <class Body>
decltype(auto) in_plugin(const Component& component, const char* method, const Body& body) {
  const Callee* plugin = callee_of(component);
  return plugin == nullptr ? body() : in_plugin(*plugin, method, body);
}

/// In the text of an error that LibTorch throws for us: what to do follows.
inline const std::string kHintMark = "\n  = ";

/// What an exception that is being handled says, of any type; LibTorch's errors without their frames, which go to the
/// log.
Error describe_exception();

/// Which step the calls from now on belong to: 1, 2, …; 0: the evaluation before the first one; kNoStep: none.
constexpr std::int64_t kNoStep = -1;
void set_current_step(std::int64_t step);

/// The innermost call of this thread or, where it is in none, the last one of any thread that has begun. For a signal
/// handler.
struct CallAtWork {
  const Callee* callee = nullptr;  ///< null: none
  const char* method = nullptr;
  std::int64_t step = kNoStep;
};
CallAtWork call_at_work();

}  // namespace drift
