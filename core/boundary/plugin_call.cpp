#include <core/boundary/plugin_call.h>

#include <core/base/log.h>

#include <drift/registry.h>

#include <c10/util/Exception.h>

#include <cxxabi.h>
#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <string>

namespace drift {
namespace {

std::atomic<std::int64_t> g_step{kNoStep};

// Not allocated on its first use, which a signal handler could not do.
__attribute__((tls_model("initial-exec"))) thread_local const PluginCall* t_call = nullptr;

// The last call that began, while any is at work: a thread of the plugin's own is in none.
std::atomic<int> g_calls{0};
std::atomic<const Callee*> g_last_callee{nullptr};
std::atomic<const char*> g_last_method{nullptr};

void tell_threads(const PluginCall& call) {
  g_last_callee = &call.callee();
  g_last_method = call.method();
}

struct Names {
  std::shared_mutex mutex;
  std::map<const Component*, Callee> all;
};
Names& names() {
  static auto& kept = *new Names;
  return kept;
}

std::string type_name_of(const std::type_info* type) {
  if (type == nullptr) return "an exception of another language";
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(abi::__cxa_demangle(type->name(), nullptr, nullptr, &status),
                                                         &std::free);
  return "an exception of type `" + std::string(name ? name.get() : type->name()) + "`";
}

std::string text_or_type(const char* text) {
  if (text != nullptr && *text != '\0') return text;
  return type_name_of(abi::__cxa_current_exception_type()) + " without a text";
}

}  // namespace

Callee callee(const ComponentEntry& entry, RunHost* host) {
  return {std::string(kind_name(entry.kind)) + " `" + entry.name + "` of plugin `" + entry.plugin + "`",
          Taken::kUntilEnd, host};
}

void name_component(const Component& component, const Callee& callee) {
  const std::unique_lock lock(names().mutex);
  names().all.insert_or_assign(&component, callee);
}

void forget_component(const Component& component) {
  const std::unique_lock lock(names().mutex);
  names().all.erase(&component);
}

const Callee* callee_of(const Component& component) {
  const std::shared_lock lock(names().mutex);
  const auto found = names().all.find(&component);
  return found == names().all.end() ? nullptr : &found->second;
}

PluginCall::PluginCall(const Callee& callee, const char* method) : callee_(callee), method_(method), outer_(t_call) {
  t_call = this;
  tell_threads(*this);
  ++g_calls;
}

PluginCall::~PluginCall() {
  --g_calls;
  t_call = outer_;
  if (outer_ != nullptr) tell_threads(*outer_);
}

Error describe_exception() {
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const c10::Error& error) {
    log_error(error.what());
    const std::string text = text_or_type(error.what_without_backtrace());
    const auto hint = text.find(kHintMark);
    if (hint == std::string::npos) return Error(text);
    return Error(text.substr(0, hint), text.substr(hint + kHintMark.size()));
  } catch (const std::bad_alloc&) {
    return Error("out of memory", "a smaller memory_budget_mib, fewer prompts_per_step, or a shorter rollout");
  } catch (const std::exception& error) {
    return Error(text_or_type(error.what()));
  } catch (const char* text) {
    return Error(text_or_type(text));
  } catch (const std::string& text) {
    return Error(text_or_type(text.c_str()));
  } catch (...) {
    return Error("it threw " + type_name_of(abi::__cxa_current_exception_type()),
                 "throw drift::Error, which can say what is wrong");
  }
}

void throw_named(const Callee& callee, const char* method) {
  try {
    throw;
  } catch (const PluginError&) {
    throw;
  } catch (const abi::__forced_unwind&) {
    throw;  // the thread is being cancelled
  } catch (...) {
    const Error error = describe_exception();
    throw PluginError(callee.text + ", " + method + ": " + error.what(), error.hint());
  }
}

void set_current_step(std::int64_t step) { g_step = step; }

CallAtWork call_at_work() {
  if (t_call != nullptr) return {&t_call->callee(), t_call->method(), g_step};
  if (g_calls == 0) return {};
  return {g_last_callee, g_last_method, g_step};
}

}  // namespace drift
