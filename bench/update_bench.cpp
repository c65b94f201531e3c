// One update of each algorithm by policy_gradient() against the original's step, transcribed to plain LibTorch: full
// logits, log-softmax over all of them, graphs as the original holds them. Two random LLaDAs, four responses of one
// group, prompt 128, response 256; advantages are given, denoising steps made up.
//
//   build/release/bench/update_bench [--shape head_heavy balanced] [--dtype float32 bfloat16] [--algorithm NAME…]
//                                    [--rounds 1] [--set KEY=VALUE…] [--memory-budget-mib N] [--drift-only]
//                                    [--device cpu] [--json FILE]
//
// Each side is a separate process with its own weights; they take turns. Share: of the rate of a square matrix product
// of the same type, measured between the updates, counted on the products that are needed at all: three times those of
// a forward (blocks at all positions of each view, with attention; LM head at its scored positions), and a forward of
// the reference policy where the loss has one. Drift computes equal contexts once, and leaves targets out of the head's
// backward to which the loss gives no gradient: if there are any, a second share counts only what is left. Memory: most
// held during the first update, above what was held before it; on a GPU by tensors. Faults: of pages, in the timed
// updates, on the CPU.

#include "bench/counterpart.h"
#include "bench/measure.h"
#include "bench/plain_update.h"
#include "bench/recipe.h"
#include "bench/update_case.h"

#include <core/base/device.h>
#include <core/base/memory.h>
#include <core/base/phase_timer.h>
#include <core/base/threads.h>
#include <core/ranks/ranks.h>
#include <core/train/memory_plan.h>

#include <drift/export.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

namespace drift::bench {
namespace {

using Json = nlohmann::json;

struct Settings : Comparison {
  std::vector<std::string> algorithms;
  std::int64_t memory_budget_mib = 0;
  std::string gradients;  ///< of a child: the file of the original's gradients
};

Settings settings_from(int count, char** arguments) {
  namespace options = boost::program_options;
  Settings settings;
  std::vector<std::string> names;
  for (const auto& algorithm : update_algorithms()) names.push_back(algorithm.name);
  options::options_description known;
  settings.add_to(known);
  auto add = known.add_options();
  add("algorithm", list_option(settings.algorithms, names));
  add("memory-budget-mib", options::value(&settings.memory_budget_mib)->default_value(0));
  add("gradients", options::value(&settings.gradients));
  options::variables_map values;
  options::store(options::parse_command_line(count, arguments, known), values);
  options::notify(values);
  return settings;
}

std::int64_t page_faults() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

/// What is compared of a gradient: of a very large one, every n-th element.
at::Tensor compared(const at::Tensor& gradient) {
  return gradient.reshape({-1})
      .slice(0, 0, std::nullopt, gradient.numel() / (1 << 24) + 1)
      .to(at::kCPU, at::kFloat)
      .contiguous();
}

void write_gradients(const std::string& path, const std::vector<at::Tensor>& gradients) {
  std::ofstream file(path, std::ios::binary);
  for (const auto& gradient : gradients) {
    const auto values = compared(gradient);
    file.write(static_cast<const char*>(values.const_data_ptr()), static_cast<std::streamsize>(values.nbytes()));
  }
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

/// The largest |got - want| / |want| of a parameter.
double largest_difference(const std::string& path, const std::vector<at::Tensor>& gradients) {
  std::ifstream file(path, std::ios::binary);
  double largest = 0;
  for (const auto& gradient : gradients) {
    const auto got = compared(gradient);
    auto want = at::empty(got.sizes(), at::kFloat);
    if (!file.read(static_cast<char*>(want.data_ptr()), static_cast<std::streamsize>(want.nbytes())))
      throw std::runtime_error("cannot read " + path);
    const double norm = want.norm().item<double>();
    const double distance = want.sub_(got).norm().item<double>();
    if (norm > 0) largest = std::max(largest, distance / norm);
  }
  return largest;
}

/// What one side does when it is asked for an algorithm.
class Server {
 public:
  Server(const Settings& settings, const UpdateShape& shape, at::ScalarType type, at::Device device)
      : settings_(settings), type_(type), device_(device), cases_(shape, type, device, settings.assignments) {
    const TrainedSizes sizes(cases_.model());  // as of a run that trains all weights
    budget_ = settings.memory_budget_mib << 20;
    if (budget_ == 0) {
      budget_ = default_memory_budget(
          *total_memory(device), weight_bytes(cases_.model()) + sizes.masters + 3 * sizes.wide_bytes, device.is_cpu());
    }
  }

  /// "NAME": time one update. "NAME first": also memory, and the gradients go to the file or are compared with it.
  Json answer(const std::string& name, bool first) {
    const auto& all = update_algorithms();
    const auto found = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.name == name; });
    if (found == all.end()) throw std::invalid_argument("there is no algorithm `" + name + "`");
    if (!cases_.has(name)) return {{"missing", true}};
    const auto one = cases_.make(*found);
    Json json;
    json["views"] = one->plan.response_F.size(0);
    json["rate"] = product_rate(type_, device_, device_.is_cpu() ? 2048 : 2 * cases_.shape().hidden);
    json["budget"] = budget_ >> 20;
    if (first) ::malloc_trim(0);

    const MemoryPeak memory(device_);
    const std::int64_t faults = page_faults();
    const PhaseTimer timer;
    const auto gradients = settings_.serve == "plain" ? plain_update(cases_, *one) : drift_update(*one, json);
    wait_for(device_);
    json["seconds"] = timer.seconds();
    json["faults"] = page_faults() - faults;
    json["memory"] = memory.bytes();
    const auto operations = cases_.needed_operations(*one, json.value("targets_with_gradient", std::int64_t{0}));
    json["operations"] = operations.by_view;
    json["operations_by_context"] = operations.by_context;
    if (first && settings_.serve == "plain") write_gradients(settings_.gradients, gradients);
    if (first && settings_.serve == "drift" && !settings_.drift_only)
      json["difference"] = largest_difference(settings_.gradients, gradients);
    return json;
  }

 private:
  std::vector<at::Tensor> drift_update(UpdateCases::Case& one, Json& json) {
    const PhaseTimer timer;
    Ranks alone;
    if (one.reference_forwards)
      one.batch.reference =
          score_views(alone, cases_.model(), cases_.trajectories(), one.plan, all_views(one.plan), one.needs.entropy);
    json["reference"] = timer.seconds();
    auto gradient = policy_gradient(alone, cases_.model(), *one.loss, one.batch, budget_);
    json["forward"] = gradient.seconds.forward;
    json["head"] = gradient.seconds.head;
    json["loss"] = gradient.seconds.loss;
    json["backward"] = gradient.seconds.backward;
    json["rows"] = gradient.backward_rows;
    json["targets_with_gradient"] = gradient.gradient_FL.count_nonzero().item<std::int64_t>();
    json["two_pass"] = gradient.two_pass;
    return std::move(gradient.gradients);
  }

  const Settings& settings_;
  const at::ScalarType type_;
  const at::Device device_;
  UpdateCases cases_;
  std::int64_t budget_ = 0;
};

void serve(const Settings& settings, at::Device device) {
  Server server(settings, update_shape(settings.shapes.front()), settings.type(), device);
  serve_lines([&](const std::string& line) -> Json {
    std::istringstream words(line);
    std::string name, first;
    words >> name >> first;
    return server.answer(name, !first.empty());
  });
}

std::vector<double> each(const std::vector<Json>& answers, const std::function<double(const Json&)>& value) {
  std::vector<double> values;
  for (const Json& one : answers) values.push_back(value(one));
  return values;
}

double share(const Json& one, double operations) {
  return 100 * operations / one["seconds"].get<double>() / one["rate"].get<double>();
}

/// A GPU's process waits while the device computes, so that only the CPU's is asked for page faults.
void print_side(const char* name, const std::vector<Json>& answers, const Json& first, double operations, bool on_cpu) {
  const auto seconds = spread(each(answers, [](const Json& one) { return one["seconds"].get<double>(); }));
  const auto shares = spread(each(answers, [&](const Json& one) { return share(one, operations); }));
  const auto faults = spread(each(answers, [](const Json& one) { return one["faults"].get<double>(); }));
  std::printf("  %-9s %7.3f s (%.3f to %.3f), %.1f %% of the product rate (%.1f to %.1f)\n", name, seconds.median,
              seconds.low, seconds.high, shares.median, shares.low, shares.high);
  std::printf("            %.2f GB above the weights", first["memory"].get<double>() / 1e9);
  if (on_cpu) std::printf(", %.0f page faults", faults.median);
  std::printf("\n");
}

/// Where Drift's time went. On a GPU its phases only say when the work was asked for.
void print_profile(const Json& ours) {
  std::printf("  profile of Drift:");
  double known = 0;
  for (const char* phase : {"reference", "forward", "head", "loss", "backward"}) {
    known += ours[phase].get<double>();
    std::printf(" %s %.2f s,", phase, ours[phase].get<double>());
  }
  std::printf(" rest %.2f s\n", ours["seconds"].get<double>() - known);
}

void measure(const Settings& settings, const std::string& name, Json result, Counterpart& drift, Counterpart* plain) {
  std::vector<Json> ours, theirs;
  if (plain != nullptr) theirs.push_back(ask(*plain, name + " first"));
  const Json first = ask(drift, name + " first");
  if (first.contains("missing")) {
    std::printf("\n%s: no plugin of this name is built\n", name.c_str());
    return;
  }
  for (int round = 0; round < settings.rounds; ++round) {
    if (plain != nullptr && round > 0) theirs.push_back(ask(*plain, name));
    ours.push_back(ask(drift, name));
  }
  if (first["targets_with_gradient"] == 0)
    throw std::runtime_error(name + ": the loss has no gradient, so this is no update");
  const double operations = first["operations"];
  std::printf("\n%s: %d views, %d contexts%s; %.0f GFLOP needed, products at %.0f GFLOP/s, budget %d MiB\n",
              name.c_str(), first["views"].get<int>(), first["rows"].get<int>(),
              first["two_pass"].get<bool>() ? ", TWO PASSES" : "", operations * 1e-9,
              ours.back()["rate"].get<double>() * 1e-9, first["budget"].get<int>());
  const bool on_cpu = settings.device == "cpu";
  print_side("Drift", ours, first, operations, on_cpu);
  const auto strict =
      spread(each(ours, [&](const Json& one) { return share(one, first["operations_by_context"].get<double>()); }));
  if (first["operations_by_context"] != first["operations"]) {
    std::printf(
        "            counting equal contexts once, and of the head's backward what has a gradient: %.1f %% (%.1f to "
        "%.1f)\n",
        strict.median, strict.low, strict.high);
  }
  result.update({{"algorithm", name},
                 {"seconds", spread(each(ours, [](const Json& one) { return one["seconds"].get<double>(); })).median},
                 {"share", strict.median / 100},
                 {"product_rate", ours.back()["rate"]},
                 {"two_pass", first["two_pass"]}});
  if (plain != nullptr) {
    print_side("original", theirs, theirs.front(), operations, on_cpu);
    std::vector<double> ratios;
    for (std::size_t r = 0; r < ours.size(); ++r)
      ratios.push_back(theirs[r]["seconds"].get<double>() / ours[r]["seconds"].get<double>());
    std::printf("  original / Drift: time %.2f, memory %.2f; largest relative difference of a gradient %.1e\n",
                spread(ratios).median, theirs.front()["memory"].get<double>() / first["memory"].get<double>(),
                first["difference"].get<double>());
    result.update({{"original_seconds",
                    spread(each(theirs, [](const Json& one) { return one["seconds"].get<double>(); })).median},
                   {"ratio", spread(ratios).median},
                   {"difference", first["difference"]}});
  }
  settings.write(result);
  if (on_cpu) print_profile(ours.back());
  std::fflush(stdout);
}

void run(int count, char** arguments) {
  const Settings settings = settings_from(count, arguments);
  use_threads(settings.threads);
  const at::Device device = run_device(settings.device);
  if (!settings.serve.empty()) return serve(settings, device);
  const auto gradients = std::filesystem::temp_directory_path() / ("update_bench." + std::to_string(::getpid()));
  for (const std::string& shape : settings.shapes) {
    for (const std::string& type : settings.types) {
      const UpdateShape size = update_shape(shape);
      std::printf("\n== %s, %s: %lld layers, hidden %lld, inner %lld, vocabulary %lld; %s, %d threads\n", shape.c_str(),
                  type.c_str(), static_cast<long long>(size.layers), static_cast<long long>(size.hidden),
                  static_cast<long long>(size.inner), static_cast<long long>(size.vocabulary), settings.device.c_str(),
                  settings.threads);
      const auto side = [&](const std::string& name) {
        return settings.side(
            name, shape, type,
            {"--memory-budget-mib", std::to_string(settings.memory_budget_mib), "--gradients", gradients.string()});
      };
      const auto drift = side("drift");
      const auto plain = settings.drift_only ? nullptr : side("plain");
      for (const std::string& name : settings.algorithms) {
        measure(settings, name, {{"shape", shape}, {"dtype", type}, {"set", settings.assignments}}, *drift,
                plain.get());
      }
      std::filesystem::remove(gradients);
    }
  }
}

}  // namespace
}  // namespace drift::bench

DRIFT_API int main(int count, char** arguments) { return drift::bench::guarded(drift::bench::run, count, arguments); }
