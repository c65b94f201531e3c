#include <core/base/log.h>
#include <core/boundary/checked.h>
#include <core/boundary/components.h>
#include <core/boundary/model_policy.h>
#include <core/cli/data_source.h>
#include <core/cli/generate_prompts.h>
#include <core/cli/printing.h>
#include <core/io/atomic.h>
#include <core/report/denoising_view.h>
#include <core/report/html_replay.h>
#include <core/rollout/prompt_encoder.h>
#include <core/rollout/response_text.h>
#include <core/rollout/runners_up.h>
#include <core/rollout/trajectory_record.h>
#include <core/rollout/watched_policy.h>
#include <core/update/commit_states.h>

#include <ATen/core/grad_mode.h>

#include <cmath>

namespace drift {
namespace {

constexpr std::int64_t kRunnersUp = 3;

struct GenerateOptions {
  CheckpointOptions checkpoint;
  PromptSource source;
  std::int64_t samples = 1;
  std::int64_t first = 1;
  bool json = false;
  bool entropy = false;
  bool show_steps = false;
  std::filesystem::path html;
};

/// What was asked, and the responses to it: those of a prompt are adjacent.
struct Answered {
  std::vector<AskedPrompt> prompts;
  std::size_t samples = 1;
  Trajectories made = {};
  std::vector<TrajectoryRecord> records = {};  ///< of `made`

  const AskedPrompt& prompt_of(std::size_t b) const { return prompts[b / samples]; }

  /// "question 7, response 2 of 4"; empty where there is only one response.
  std::string name_of(std::size_t b) const {
    if (records.size() == 1) return {};
    const auto& id = prompt_of(b).id;
    std::string name = id.is_null() ? "prompt " + std::to_string(b / samples + 1)
                                    : (id.is_string() ? id.get<std::string>() : json_text(id));
    if (samples > 1) name += ", response " + std::to_string(b % samples + 1) + " of " + std::to_string(samples);
    return name;
  }
  std::string text_of(std::size_t b, const Tokenizer& tokenizer) const {
    return response_text(made, static_cast<std::int64_t>(b), tokenizer);
  }
};

std::string json_of(const Answered& answered, std::size_t b, const Tokenizer& tokenizer) {
  Json object;
  if (!answered.prompt_of(b).id.is_null()) object["id"] = answered.prompt_of(b).id;
  if (answered.samples > 1) object["sample"] = b % answered.samples;
  object.update(to_json(answered.records[b]));
  object["text"] = answered.text_of(b, tokenizer);
  return json_text(object);
}

/// The response as it stood after each forward, a dot for every position that was still masked.
std::string steps_text(const TrajectoryRecord& record, const Tokenizer& tokenizer) {
  const auto pieces = display_pieces(record.token_ids, tokenizer);
  std::string text;
  for (std::int64_t step = 0; step < record.forwards; ++step) {
    text += "step " + std::to_string(step + 1) + "\n";
    for (std::size_t i = 0; i < pieces.size(); ++i)
      text += record.steps[i] >= 0 && record.steps[i] <= step ? pieces[i] : std::string("\u00b7");
    text += "\n\n";
  }
  return text;
}

/// Draws a response in the terminal as it is written.
class LiveResponse {
 public:
  LiveResponse(std::int64_t length, const ModelTraits& traits, const Tokenizer& tokenizer)
      : traits_(traits), tokenizer_(tokenizer), view_(std::cout, detect_terminal(1)) {
    state_.positions.resize(static_cast<std::size_t>(length));
  }

  /// The state before another forward.
  void watch(const std::vector<std::int64_t>& tokens) {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      auto& position = state_.positions[i];
      if (tokens[i] == traits_.mask_id) continue;
      if (++position.age == 0) position.text = written_text(std::span(&tokens[i], 1), tokenizer_, false);
    }
    view_.show(state_);
    ++state_.forwards;
  }

  void finish(const TrajectoryRecord& record) {
    const auto pieces = display_pieces(record.token_ids, tokenizer_);
    state_.forwards = record.forwards;
    for (std::size_t i = 0; i < pieces.size(); ++i)
      state_.positions[i] = {pieces[i], record.steps[i] < 0 ? -1 : state_.forwards - 1 - record.steps[i]};
    view_.show(state_);
  }

 private:
  const ModelTraits& traits_;
  const Tokenizer& tokenizer_;
  DenoisingView view_;
  DenoisingState state_;
};

/// One response as html_replay() takes it.
nlohmann::json replay_of(const Answered& answered, std::size_t b, const Policy& policy, const Tokenizer& tokenizer) {
  const TrajectoryRecord& record = answered.records[b];
  std::vector<double> probabilities;
  for (const float logprob : record.commit_logprob) probabilities.push_back(std::exp(static_cast<double>(logprob)));
  auto runners = nlohmann::json::array();
  for (const TokenProbabilities& of_position :
       runners_up(policy, answered.made, static_cast<std::int64_t>(b), kRunnersUp)) {
    auto& list = runners.emplace_back(nlohmann::json::array());
    for (const auto& [id, probability] : of_position)
      list.push_back({{"token", written_text(std::span(&id, 1), tokenizer, false)}, {"probability", probability}});
  }
  return {{"name", answered.name_of(b)},
          {"prompt", written_text(answered.prompt_of(b).token_ids, tokenizer, /*skip_special=*/false)},
          {"response", answered.text_of(b, tokenizer)},
          {"tokens", display_pieces(record.token_ids, tokenizer)},
          {"commit_step", record.steps},
          {"commit_probability", probabilities},
          {"runners_up", runners}};
}

std::string readable(const Answered& answered, std::size_t b, const Tokenizer& tokenizer, bool steps) {
  const TrajectoryRecord& record = answered.records[b];
  std::string text = answered.name_of(b);
  if (!text.empty()) text = "== " + text + ", " + count_of(static_cast<std::size_t>(record.forwards), "forward") + "\n";
  if (steps) text += steps_text(record, tokenizer);
  return text + answered.text_of(b, tokenizer);
}

void check_options(const GenerateOptions& options) {
  const PromptSource& source = options.source;
  if (int{source.prompt.has_value()} + int{!source.token_ids.empty()} + int{!source.item.empty()} +
          int{!source.in.empty()} !=
      1)
    throw UsageError("`drift generate` expects one of --prompt, --item, --token-ids and --in",
                     "for example: --prompt '2 + 2 ='");
  if (options.entropy && !options.json)
    throw UsageError("--entropy is for --json", "for example: --prompt '2 + 2 =' --json --entropy");
}

int generate(const GenerateOptions& options) {
  check_options(options);
  const LoadedRun run = load_run(options.checkpoint.run("rollout.name"), ConfigPurpose::kGenerate);
  const auto& config = run.config;
  for (const std::string& note : config.warnings(/*file_is_known=*/true)) log_warning(note);
  prepare_device(config);
  const ModelShapes shapes(run.host(), config, WhichAdapters::kSaved);
  const RunPrompts prompts(run, shapes.traits());
  const Tokenizer& tokenizer = prompts.tokenizer;
  const ModelTraits& traits = prompts.traits;
  const auto rollout = create_component<Rollout>(run.host(), config, "rollout");
  const std::int64_t length = checked_response_length(*rollout);
  Answered answered{read_prompts(options.source, run, prompts, length), static_cast<std::size_t>(options.samples)};
  // Whether the page can be written shows before the work. The file is made after it, so that Ctrl-C leaves none.
  if (!options.html.empty()) const AtomicFile tried(options.html);
  const auto model = open_model(shapes);

  std::vector<std::vector<std::int64_t>> ids;
  for (const AskedPrompt& prompt : answered.prompts) ids.push_back(prompt.token_ids);
  const ModelPolicy policy(*model);
  RolloutInput input;
  input.policy = &policy;
  input.prompts = padded_prompts(ids, options.samples, traits.pad_id);
  input.random = RandomStream(run.seed(), "generate");
  input.first_response = options.first - 1;

  const bool terminal = detect_terminal(1).is_terminal;
  std::optional<LiveResponse> live;
  std::optional<WatchedPolicy> watched;
  if (options.show_steps && !options.json && terminal && ids.size() == 1 && options.samples == 1) {
    live.emplace(length, traits, tokenizer);
    watched.emplace(policy, std::ssize(ids.front()), length,
                    [&](const std::vector<std::int64_t>& tokens) { live->watch(tokens); });
    input.policy = &*watched;
  }
  const at::NoGradGuard no_gradient;
  answered.made = checked_trajectories(*rollout, input);
  Ranks alone;
  const at::Tensor entropy_BL = options.entropy ? commit_entropies(alone, *model, answered.made) : at::Tensor();
  for (std::int64_t b = 0; b < answered.made.tokens_BL.size(0); ++b)
    answered.records.push_back(trajectory_record(answered.made, b, entropy_BL));
  if (live) live->finish(answered.records.front());

  if (!options.html.empty()) {
    auto responses = nlohmann::json::array();
    for (std::size_t b = 0; b < answered.records.size(); ++b)
      responses.push_back(replay_of(answered, b, policy, tokenizer));
    write_file_atomically(options.html, html_replay(responses.size() == 1 ? "A response, forward by forward"
                                                                          : "Responses, forward by forward",
                                                    options.checkpoint.folder.string(), responses));
  }
  for (std::size_t b = 0; b < answered.records.size(); ++b) {
    if (options.json) {
      std::cout << json_of(answered, b, tokenizer) << "\n";
      continue;
    }
    const std::string text = readable(answered, b, tokenizer, options.show_steps && !live);
    std::cout << (b > 0 ? "\n" : "") << (terminal ? printable(text) : text) << "\n";
  }
  return 0;
}

}  // namespace

Command generate_command() {
  return make_command<GenerateOptions>(
      {"generate", "write responses to prompts",
       "The rollout is that of the run that made the checkpoint, of --config, or of --set. All responses are written\n"
       "together, in the order of the prompts and samples. What is drawn for a response depends on its number alone:\n"
       "with --first, a part of a file gets what the whole file gets. A text gets the words and marks that the run\n"
       "puts around a question, unless it has marks of its own, or with --raw.",
       "generate runs/quickstart/checkpoints/last --prompt $'<|startoftext|>0040\\n4301\\n0004\\n1400<|sep|>' "
       "--show-steps"},
      generate, [](OptionList& list, GenerateOptions& options) {
        PromptSource& source = options.source;
        list.add("prompt", "TEXT", "the prompt", source.prompt);
        list.add("item", "ID", "the prompt of an item of the run's task (drift data check --show prints ids)",
                 source.item);
        list.add("token-ids", "1,2,3", "the prompt as token ids", source.token_ids);
        list.add("in", "FILE",
                 "prompts: one JSON object a line with prompt, token_ids or item, and perhaps an id that is repeated; "
                 "- is standard input",
                 source.in);
        list.add_switch("raw", "prompts are all that the model reads: nothing is put around them", source.raw);
        list.add("samples", "N", "responses to each prompt", options.samples);
        list.add("first", "N", "number of the first response", options.first);
        list.add_switch(
            "json",
            "print a JSON object for each response: ids of prompt and response, denoising steps, log-probabilities",
            options.json);
        list.add_switch("entropy",
                        "with --json: also the entropy of the distribution that each token was committed from, in "
                        "nats, computed from the whole state; as many forwards again",
                        options.entropy);
        list.add_switch("show-steps",
                        "show the response while it is written; where standard output is no terminal, and for several "
                        "responses, print each after every denoising step",
                        options.show_steps);
        list.add("html", "FILE",
                 "write a page that replays the responses; what came next to a token is computed from the whole state, "
                 "also where the rollout took keys from a cache",
                 options.html);
        add_checkpoint(list, options.checkpoint, {"adapter", "seed", "dtype", "device"});
      });
}

}  // namespace drift
