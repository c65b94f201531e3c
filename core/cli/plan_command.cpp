#include <core/base/response_end.h>
#include <core/boundary/components.h>
#include <core/cli/data_source.h>
#include <core/cli/load_run.h>
#include <core/io/json.h>
#include <core/report/format.h>
#include <core/report/terminal.h>
#include <core/report/text_table.h>
#include <core/rollout/trajectory_record.h>
#include <core/update/policy_update.h>

#include <ATen/TensorOperators.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iostream>

namespace drift {
namespace {

constexpr std::int64_t kPictureWidth = 64;  // positions in one line

struct PlanOptions {
  ConfigOptions config;
  std::filesystem::path trajectories;
  std::int64_t step = 1;
  std::int64_t inner_iteration = 1;
  std::int64_t responses = 4;
  bool json = false;
};

/// The views of a masking strategy of some responses.
struct DrawnPlan {
  std::string masking;
  Trajectories trajectories;
  MaskPlan plan;

  std::int64_t length() const { return trajectories.tokens_BL.size(1); }
  bool is_set(const at::Tensor& tensor_FL, std::int64_t view, std::int64_t position) const {
    return tensor_FL.defined() && tensor_FL.const_data_ptr<bool>()[view * tensor_FL.size(1) + position];
  }
  std::vector<std::int64_t> views_of(std::int64_t response) const {
    std::vector<std::int64_t> views;
    for (std::int64_t view = 0; view < plan.response_F.size(0); ++view) {
      if (plan.response_F.const_data_ptr<std::int64_t>()[view] == response) views.push_back(view);
    }
    return views;
  }
  std::int64_t forward(std::int64_t view) const { return plan.term_F.const_data_ptr<std::int64_t>()[view]; }
  double weight(std::int64_t view) const {
    return plan.weight_F.defined() ? static_cast<double>(plan.weight_F.const_data_ptr<float>()[view]) : 1.0;
  }
  bool committed(std::int64_t view, std::int64_t position) const {
    return is_set(plan.target_FL, view, position) &&
           (!plan.committed_FL.defined() || is_set(plan.committed_FL, view, position));
  }
  bool unattended(std::int64_t view, std::int64_t position) const {
    return plan.attended_FL.defined() && !is_set(plan.attended_FL, view, position);
  }
};

/// As a training run draws it for a rollout whose responses have these numbers.
DrawnPlan draw_views(const PlanOptions& options) {
  if (options.inner_iteration < 1) throw UsageError("--inner-iteration expects a number from 1");
  const LoadedRun run = load_run(options.config, ConfigPurpose::kTrain);
  const ModelTraits traits = read_model_traits(run.registry(), run.config);
  const auto masking = create_component<MaskingStrategy>(run.registry(), run.config, "algorithm.masking");
  DrawnPlan drawn;
  drawn.masking = masking.name();
  drawn.trajectories = trajectories_of(read_trajectories(options.trajectories), traits);
  if (!run.config.get<RolloutSettings>().keep_after_end) drop_after_end(traits, drawn.trajectories);
  drawn.plan =
      draw_plan(*masking, drawn.trajectories, traits,
                {RandomStream(run.seed(), "train").child("masking"), options.step, {}, options.inner_iteration - 1});
  return drawn;
}

/// Marks of a position, from what the model sees to what is learned there.
struct PlanMarks {
  const char *visible, *masked, *scored, *committed, *visible_scored, *unattended;
};
constexpr PlanMarks kUnicodeMarks = {"·", "░", "▒", "█", "◆", " "};
constexpr PlanMarks kAsciiMarks = {".", "-", "o", "#", "*", " "};

const char* mark_of(const DrawnPlan& drawn, const PlanMarks& marks, std::int64_t view, std::int64_t position) {
  const bool masked = drawn.is_set(drawn.plan.masked_FL, view, position);
  if (drawn.is_set(drawn.plan.target_FL, view, position)) {
    if (!masked) return marks.visible_scored;
    return drawn.committed(view, position) ? marks.committed : marks.scored;
  }
  if (drawn.unattended(view, position)) return marks.unattended;
  return masked ? marks.masked : marks.visible;
}

/// The denoising step of each position, a digit or a letter; from the 36th on they begin again.
std::string step_mark(std::int32_t step) {
  constexpr const char* kDigits = "0123456789abcdefghijklmnopqrstuvwxyz";
  return step < 0 ? "-" : std::string(1, kDigits[step % 36]);
}

/// Lines of at most kPictureWidth positions.
template <class Mark>
std::vector<std::string> picture_lines(std::int64_t length, const Mark& mark) {
  std::vector<std::string> lines;
  for (std::int64_t i = 0; i < length; ++i) {
    if (i % kPictureWidth == 0) lines.emplace_back();
    lines.back() += mark(i);
  }
  return lines;
}

template <class Counted>
std::string marked(std::int64_t length, const Counted& counted) {
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < length; ++i) found += counted(i) ? 1 : 0;
  return std::to_string(found);
}

void add_picture(TextTable& table, std::vector<std::string> cells, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    cells.push_back(line);
    table.rows.push_back(cells);
    cells.assign(cells.size() - 1, "");
  }
}

TextTable plan_table(const DrawnPlan& drawn, std::int64_t response, const PlanMarks& marks) {
  const MaskPlan& plan = drawn.plan;
  const bool prompts = plan.prompt_masked_FP.defined();
  TextTable table{
      {"view", "forward", "weight", "masked", "scored", "committed"}, {true, true, true, true, true, true}, {}};
  if (prompts) table.titles.emplace_back("of the prompt"), table.is_number.push_back(true);
  table.titles.emplace_back("positions"), table.is_number.push_back(false);
  const std::int32_t* const steps =
      drawn.trajectories.step_BL.const_data_ptr<std::int32_t>() + response * drawn.length();
  std::vector<std::string> first(prompts ? 7 : 6);
  first.front() = "steps";
  add_picture(table, first, picture_lines(drawn.length(), [&](std::int64_t i) { return step_mark(steps[i]); }));
  for (const std::int64_t view : drawn.views_of(response)) {
    std::vector<std::string> cells = {std::to_string(view), std::to_string(drawn.forward(view)),
                                      format_decimal(drawn.weight(view), 2)};
    const auto add = [&](auto counted) { cells.push_back(marked(drawn.length(), counted)); };
    add([&](std::int64_t i) { return drawn.is_set(plan.masked_FL, view, i); });
    add([&](std::int64_t i) { return drawn.is_set(plan.target_FL, view, i); });
    add([&](std::int64_t i) { return drawn.committed(view, i); });
    if (prompts) {
      cells.push_back(marked(plan.prompt_masked_FP.size(1),
                             [&](std::int64_t p) { return drawn.is_set(plan.prompt_masked_FP, view, p); }));
    }
    add_picture(table, cells,
                picture_lines(drawn.length(), [&](std::int64_t i) { return mark_of(drawn, marks, view, i); }));
  }
  return table;
}

void print_plan(const DrawnPlan& drawn, const PlanOptions& options) {
  const Terminal terminal(std::cout, detect_terminal(1));
  const PlanMarks& marks = terminal.unicode() ? kUnicodeMarks : kAsciiMarks;
  const std::int64_t responses = drawn.trajectories.tokens_BL.size(0);
  const std::int64_t shown = std::min(responses, options.responses);
  for (std::int64_t b = 0; b < shown; ++b) {
    const auto views = drawn.views_of(b).size();
    std::cout << "response " << b << ", "
              << (views == 0 ? "no view: it gives no training signal"
                             : std::to_string(views) + (views == 1 ? " view" : " views"))
              << "\n"
              << to_text(plan_table(drawn, b, marks), terminal.unicode()) << "\n";
  }
  std::cout << marks.visible << " visible  " << marks.masked << " masked  " << marks.scored << " scored  "
            << marks.committed << " scored, committed from this state  " << marks.visible_scored
            << " visible and scored  blank: not attended to\n"
            << "steps: the forward that committed a position (0-9, a-z, and again)\n"
            << "views: " << drawn.plan.response_F.size(0) << ", responses: " << responses << ", masking strategy: `"
            << drawn.masking << "`, forwards of the estimator: " << drawn.plan.terms;
  if (shown < responses) std::cout << "; shown: " << shown << " (--responses)";
  std::cout << "\n";
}

template <class Chosen>
std::vector<std::int64_t> chosen_positions(std::int64_t length, const Chosen& chosen) {
  std::vector<std::int64_t> list;
  for (std::int64_t i = 0; i < length; ++i) {
    if (chosen(i)) list.push_back(i);
  }
  return list;
}

nlohmann::ordered_json view_json(const DrawnPlan& drawn, std::int64_t view) {
  const MaskPlan& plan = drawn.plan;
  const std::int64_t length = drawn.length();
  nlohmann::ordered_json json = {{"forward", drawn.forward(view)}, {"weight", drawn.weight(view)}};
  json["masked"] = chosen_positions(length, [&](std::int64_t i) { return drawn.is_set(plan.masked_FL, view, i); });
  json["scored"] = chosen_positions(length, [&](std::int64_t i) { return drawn.is_set(plan.target_FL, view, i); });
  json["committed"] = chosen_positions(length, [&](std::int64_t i) { return drawn.committed(view, i); });
  json["unattended"] = chosen_positions(length, [&](std::int64_t i) { return drawn.unattended(view, i); });
  const std::int64_t prompt = plan.prompt_masked_FP.defined() ? plan.prompt_masked_FP.size(1) : 0;
  json["prompt_masked"] =
      chosen_positions(prompt, [&](std::int64_t p) { return drawn.is_set(plan.prompt_masked_FP, view, p); });
  return json;
}

void print_plan_json(const DrawnPlan& drawn, const PlanOptions& options) {
  nlohmann::ordered_json json = {{"masking", drawn.masking}, {"step", options.step}, {"forwards", drawn.plan.terms}};
  json["responses"] = nlohmann::ordered_json::array();
  for (std::int64_t b = 0; b < drawn.trajectories.tokens_BL.size(0); ++b) {
    auto views = nlohmann::ordered_json::array();
    for (const std::int64_t view : drawn.views_of(b)) views.push_back(view_json(drawn, view));
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
