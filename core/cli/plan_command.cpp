#include <core/base/response_end.h>
#include <core/boundary/components.h>
#include <core/cli/data_source.h>
#include <core/cli/load_run.h>
#include <core/cli/printing.h>
#include <core/rollout/trajectory_record.h>
#include <core/update/policy_update.h>

#include <ATen/TensorOperators.h>

#include <algorithm>

namespace drift {
namespace {

constexpr std::size_t kPictureWidth = 64;  // positions in one line

struct PlanOptions {
  ConfigOptions config;
  std::filesystem::path trajectories;
  std::int64_t step = 1;
  std::int64_t inner_iteration = 1;
  std::int64_t responses = 4;
  bool json = false;
};

/// One view of a response: what the masking strategy does with each position.
struct View {
  std::int64_t number = 0, forward = 0;
  double weight = 1;
  std::vector<float> token_weights;  ///< of the scored positions, in their order; empty: all are 1
  std::vector<std::int64_t> steps;   ///< likewise, their places in the order of writing; empty: the view's forward
  std::vector<bool> masked, scored, committed, unattended;
  std::vector<bool> prompt_masked;  ///< empty: no prompt is masked
};

/// The views that a masking strategy draws, by response.
struct DrawnPlan {
  std::string masking;
  std::int64_t forwards = 0;
  std::vector<std::vector<std::int32_t>> steps = {};  ///< of each position of each response
  std::vector<std::vector<View>> views = {};
};

template <class Value>
auto row_values(const at::Tensor& tensor_FL, std::int64_t row) {
  if (!tensor_FL.defined()) return std::vector<Value>();
  const Value* first = tensor_FL.const_data_ptr<Value>() + row * tensor_FL.size(1);
  return std::vector<Value>(first, first + tensor_FL.size(1));
}

View view_of(const MaskPlan& plan, std::int64_t number) {
  View view{.number = number,
            .forward = plan.term_F.const_data_ptr<std::int64_t>()[number],
            .masked = row_values<bool>(plan.masked_FL, number),
            .scored = row_values<bool>(plan.target_FL, number),
            .committed = row_values<bool>(plan.committed_FL, number),
            .unattended = row_values<bool>(plan.attended_FL, number),
            .prompt_masked = row_values<bool>(plan.prompt_masked_FP, number)};
  if (plan.weight_F.defined()) view.weight = static_cast<double>(plan.weight_F.const_data_ptr<float>()[number]);
  if (view.committed.empty()) view.committed = view.scored;
  for (std::size_t i = 0; i < view.scored.size(); ++i) view.committed[i] = view.committed[i] && view.scored[i];
  const std::vector<float> weights = row_values<float>(plan.token_weight_FL, number);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (view.scored[i]) view.token_weights.push_back(weights[i]);
  }
  const std::vector<std::int64_t> steps = row_values<std::int64_t>(plan.target_step_FL, number);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (view.scored[i]) view.steps.push_back(steps[i]);
  }
  view.unattended.flip();
  view.unattended.resize(view.scored.size());
  return view;
}

/// As a training run draws it for a rollout whose responses have these numbers.
DrawnPlan draw_views(const PlanOptions& options) {
  const LoadedRun run = load_run(options.config, ConfigPurpose::kTrain);
  const ModelTraits traits = read_model_traits(run.host(), run.config);
  const auto masking = create_component<MaskingStrategy>(run.host(), run.config, "algorithm.masking");
  Trajectories trajectories = trajectories_of(read_trajectories(options.trajectories), traits);
  if (!run.config.get<RolloutSettings>().keep_after_end) drop_after_end(traits, trajectories);
  const MaskPlan plan =
      draw_plan(*masking, trajectories, traits,
                {RandomStream(run.seed(), "train").child("masking"), options.step, {}, options.inner_iteration - 1});
  DrawnPlan drawn{.masking = masking.name(), .forwards = plan.terms};
  drawn.views.resize(static_cast<std::size_t>(trajectories.tokens_BL.size(0)));
  for (std::int64_t b = 0; b < trajectories.tokens_BL.size(0); ++b)
    drawn.steps.push_back(row_values<std::int32_t>(trajectories.step_BL, b));
  for (std::int64_t number = 0; number < plan.response_F.size(0); ++number) {
    const auto response = static_cast<std::size_t>(plan.response_F.const_data_ptr<std::int64_t>()[number]);
    drawn.views[response].push_back(view_of(plan, number));
  }
  return drawn;
}

/// Marks of a position, from what the model sees to what is learned there.
struct PlanMarks {
  const char *visible, *masked, *scored, *committed, *visible_scored, *unattended;
};
constexpr PlanMarks kUnicodeMarks = {"·", "░", "▒", "█", "◆", " "};
constexpr PlanMarks kAsciiMarks = {".", "-", "o", "#", "*", " "};

const char* mark_of(const View& view, const PlanMarks& marks, std::size_t position) {
  const bool masked = view.masked[position];
  if (view.scored[position]) {
    if (!masked) return marks.visible_scored;
    return view.committed[position] ? marks.committed : marks.scored;
  }
  if (view.unattended[position]) return marks.unattended;
  return masked ? marks.masked : marks.visible;
}

/// "0.25 to 1" of the smallest and the largest.
std::string range_of(const std::vector<float>& weights) {
  if (weights.empty()) return "1";
  const auto [least, most] = std::ranges::minmax(weights);
  const std::string first = print_text("%.3g", static_cast<double>(least));
  return least == most ? first : first + " to " + print_text("%.3g", static_cast<double>(most));
}

/// The denoising step of each position, a digit or a letter; from the 36th on they begin again.
std::string step_mark(std::int32_t step) {
  constexpr const char* kDigits = "0123456789abcdefghijklmnopqrstuvwxyz";
  return step < 0 ? "-" : std::string(1, kDigits[step % 36]);
}

/// A row of numbers with the positions behind it, on as many lines as they take.
template <class Mark>
void add_picture(TextTable& table, std::vector<std::string> cells, std::size_t length, const Mark& mark) {
  cells.emplace_back();
  for (std::size_t i = 0; i < length; ++i) {
    if (i > 0 && i % kPictureWidth == 0) {
      table.rows.push_back(cells);
      std::ranges::fill(cells, "");
    }
    cells.back() += mark(i);
  }
  table.rows.push_back(cells);
}

TextTable plan_table(const DrawnPlan& drawn, std::size_t response, const PlanMarks& marks) {
  const std::vector<View>& views = drawn.views[response];
  const bool prompts = !views.empty() && !views.front().prompt_masked.empty();
  TextTable table{{"view", "forward", "weight", "masked", "scored", "committed"}, std::vector<bool>(6, true), {}};
  if (prompts) table.titles.emplace_back("of the prompt"), table.is_number.push_back(true);
  const bool token_weights = std::ranges::any_of(views, [](const View& view) { return !view.token_weights.empty(); });
  if (token_weights) table.titles.emplace_back("of a token"), table.is_number.push_back(false);
  std::vector<std::string> first(table.titles.size());
  table.titles.emplace_back("positions"), table.is_number.push_back(false);
  first.front() = "steps";
  const auto& steps = drawn.steps[response];
  add_picture(table, first, steps.size(), [&](std::size_t i) { return step_mark(steps[i]); });
  for (const View& view : views) {
    std::vector<std::string> cells = {std::to_string(view.number), std::to_string(view.forward),
                                      format_decimal(view.weight, 2)};
    for (const auto* set : {&view.masked, &view.scored, &view.committed, &view.prompt_masked}) {
      if (prompts || set != &view.prompt_masked) cells.push_back(std::to_string(std::ranges::count(*set, true)));
    }
    if (token_weights) cells.push_back(range_of(view.token_weights));
    add_picture(table, cells, steps.size(), [&](std::size_t i) { return mark_of(view, marks, i); });
  }
  return table;
}

void print_plan(const DrawnPlan& drawn, const PlanOptions& options) {
  const Terminal terminal(std::cout, detect_terminal(1));
  const PlanMarks& marks = terminal.unicode() ? kUnicodeMarks : kAsciiMarks;
  const std::size_t shown = std::min(drawn.views.size(), static_cast<std::size_t>(options.responses));
  std::size_t all = 0;
  for (const auto& views : drawn.views) all += views.size();
  for (std::size_t b = 0; b < shown; ++b) {
    const std::size_t views = drawn.views[b].size();
    std::cout << "response " << b << ", "
              << (views == 0 ? "no view: it gives no training signal" : count_of(views, "view")) << "\n"
              << to_text(plan_table(drawn, b, marks), terminal.unicode()) << "\n";
  }
  std::cout << marks.visible << " visible  " << marks.masked << " masked  " << marks.scored << " scored  "
            << marks.committed << " scored, committed from this state  " << marks.visible_scored
            << " visible and scored  blank: not attended to\n"
            << "steps: the forward that committed a position (0-9, a-z, and again)\n"
            << "views: " << all << ", responses: " << drawn.views.size() << ", masking strategy: `" << drawn.masking
            << "`, forwards of the estimator: " << drawn.forwards;
  if (shown < drawn.views.size()) std::cout << "; shown: " << shown << " (--responses)";
  std::cout << "\n";
}

/// Where a set is true.
std::vector<std::size_t> positions(const std::vector<bool>& set) {
  std::vector<std::size_t> list;
  for (std::size_t i = 0; i < set.size(); ++i) {
    if (set[i]) list.push_back(i);
  }
  return list;
}

void print_plan_json(const DrawnPlan& drawn, const PlanOptions& options) {
  Json json = {{"masking", drawn.masking}, {"step", options.step}, {"forwards", drawn.forwards}};
  json["responses"] = Json::array();
  for (std::size_t b = 0; b < drawn.views.size(); ++b) {
    auto views = Json::array();
    for (const View& view : drawn.views[b]) {
      views.push_back({{"forward", view.forward},
                       {"weight", view.weight},
                       {"token_weights", view.token_weights},
                       {"steps", view.steps},
                       {"masked", positions(view.masked)},
                       {"scored", positions(view.scored)},
                       {"committed", positions(view.committed)},
                       {"unattended", positions(view.unattended)},
                       {"prompt_masked", positions(view.prompt_masked)}});
    }
    json["responses"].push_back({{"response", b}, {"views", views}});
  }
  std::cout << json_text(json, 1) << "\n";
}

int show_plan(const PlanOptions& options) {
  const DrawnPlan drawn = draw_views(options);
  if (options.json) {
    print_plan_json(drawn, options);
  } else {
    print_plan(drawn, options);
  }
  return 0;
}

}  // namespace

Command plan_command() {
  return make_command<PlanOptions>(
      {"plan", "the views that a masking strategy draws for stored responses",
       "Shows for each response which positions each view masks, leaves visible and scores. FILE has the lines\n"
       "of `drift generate --json`, or those that `drift eval` keeps with evaluation.trajectories. The draws are\n"
       "those of a training run with this seed, at --step, whose rollout had the file's responses in this order.",
       "generate runs/quickstart/checkpoints/last --prompt $'<|startoftext|>0040\\n4301\\n0004\\n1400<|sep|>' --json | "
       "tee written.jsonl\n"
       "plan configs/quickstart.toml --trajectories written.jsonl"},
      show_plan, [](OptionList& list, PlanOptions& options) {
        list.argument("RUN.toml", options.config.file);
        list.add("trajectories", "FILE", "the responses", options.trajectories).required = true;
        list.add("step", "N", "training step whose draws are shown", options.step);
        list.add("inner-iteration", "N", "of the training step, from 1; many strategies draw a plan for each",
                 options.inner_iteration);
        list.add("responses", "N", "responses to show", options.responses);
        list.add_switch("json", "print every view of every response as JSON: lists of positions, from 0", options.json);
        add_settings(list, options.config, {"algorithm", "model", "seed"});
      });
}

}  // namespace drift
