#include <core/plugin/host_call.h>

#include <bit>
#include <exception>
#include <type_traits>
#include <utility>

namespace drift {
namespace {

/// body(call) for a function that C code has called: an exception becomes the call's failure.
template <class Body>
auto for_plugin(const DriftHost* host, const Body& body) noexcept {
  using Result = std::invoke_result_t<Body, HostCall&>;
  // The plugin has it as constant; it is made as HostCall alone.
  HostCall& call = *static_cast<HostCall*>(const_cast<DriftHost*>(host));
  try {
    return body(call);
  } catch (const Error& error) {
    call.fail(error);
  } catch (const std::exception& error) {
    call.fail(Error(error.what()));
  }
  return Result();
}

/// Hands a result over, if this kind of call has such results.
template <class Structure>
void hand_over(const DriftHost* host, const char* function, const char* what,
               std::function<void(const Structure&)> HostCall::*taker, const Structure* given) {
  for_plugin(host, [&](HostCall& call) {
    if (!(call.*taker)) throw Error(std::string(function) + "() belongs to another kind of component");
    (call.*taker)(as_known(given, what));
  });
}

void call_error(const DriftHost* host, DriftText what, DriftText hint) {
  for_plugin(host, [&](HostCall& call) {
    const std::string_view text = view_of(what);
    call.fail(Error(text.empty() ? "it failed without a reason" : std::string(text), std::string(view_of(hint))));
  });
}

void call_log(const DriftHost* host, std::uint32_t level, DriftText text) {
  for_plugin(host, [&](HostCall& call) {
    call.component_host.log(level == DRIFT_LOG_WARNING ? LogLevel::kWarning : LogLevel::kInfo, view_of(text));
  });
}

void call_warn_once(const DriftHost* host, DriftText text) {
  for_plugin(host, [&](HostCall& call) { call.component_host.warn_once(view_of(text)); });
}

void call_metric(const DriftHost* host, DriftText name, double sum, double count) {
  for_plugin(host, [&](HostCall& call) { call.component_host.metric(view_of(name), sum, count); });
}

DriftStream call_stream(const DriftHost* host, DriftText name) {
  return for_plugin(host, [&](HostCall& call) { return handle_of(call.component_host.random(view_of(name))); });
}

DriftStream call_seeded_stream(const DriftHost* host, std::uint64_t seed, DriftText name) {
  return for_plugin(host, [&](HostCall&) { return handle_of(RandomStream(seed, view_of(name))); });
}

DriftStream call_child(const DriftHost* host, DriftStream stream, DriftText name) {
  return for_plugin(host, [&](HostCall&) { return handle_of(stream_of(stream).child(view_of(name))); });
}

RandomPoint point_of(DriftPoint point) { return {point.step, point.response, point.position, point.draw}; }

std::uint64_t call_bits(const DriftHost* host, DriftStream stream, DriftPoint point) {
  return for_plugin(host, [&](HostCall&) { return stream_of(stream).bits(point_of(point)); });
}

double call_uniform(const DriftHost* host, DriftStream stream, DriftPoint point) {
  return for_plugin(host, [&](HostCall&) { return stream_of(stream).uniform(point_of(point)); });
}

std::int64_t call_below(const DriftHost* host, DriftStream stream, std::int64_t bound, DriftPoint point) {
  return for_plugin(host, [&](HostCall&) { return stream_of(stream).below(bound, point_of(point)); });
}

void call_loss_metric(const DriftHost* host, DriftText name, double sum, double count) {
  for_plugin(host, [&](HostCall& call) {
    if (!call.take_metric) throw Error("loss_metric() belongs to a loss", "metric() is for every component");
    call.take_metric(view_of(name), sum, count);
  });
}

void call_add_view(const DriftHost* host, const DriftView* view) {
  hand_over(host, "add_view", "DriftView", &HostCall::take_view, view);
}
void call_give_verdict(const DriftHost* host, const DriftVerdict* verdict) {
  hand_over(host, "give_verdict", "DriftVerdict", &HostCall::take_verdict, verdict);
}
void call_give_item(const DriftHost* host, const DriftItem* item) {
  hand_over(host, "give_item", "DriftItem", &HostCall::take_item, item);
}

constexpr DriftHost kFunctions = {
    sizeof(DriftHost), call_error,         call_log,      call_warn_once,    call_metric,
    call_stream,       call_seeded_stream, call_child,    call_bits,         call_uniform,
    call_below,        call_loss_metric,   call_add_view, call_give_verdict, call_give_item,
};

}  // namespace

std::string_view view_of(DriftText text) {
  if (text.size == 0) return {};
  if (text.data == nullptr) throw Error("a text of " + std::to_string(text.size) + " bytes is at NULL");
  return {text.data, text.size};
}

RandomStream stream_of(DriftStream stream) {
  static_assert(sizeof(RandomStream) == sizeof(DriftStream), "a stream is its key");
  return std::bit_cast<RandomStream>(stream);
}

HostCall::HostCall(Host& component_host) : DriftHost(kFunctions), component_host(component_host) {}

void HostCall::finish(DriftStatus status, const char* function) const {
  if (failure) throw *failure;
  if (status != DRIFT_OK)
    throw Error(std::string(function) + " failed without a reason",
                "call error() of the host before returning DRIFT_FAILED");
}

}  // namespace drift
