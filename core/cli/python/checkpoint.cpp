// A checkpoint in Python's process: what it writes, and the log-probabilities that it gives.

#include <core/boundary/checked.h>
#include <core/boundary/components.h>
#include <core/boundary/model_policy.h>
#include <core/cli/generate_prompts.h>
#include <core/cli/python/module.h>
#include <core/python/structures.h>
#include <core/python/tensors.h>
#include <core/rollout/response_text.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

namespace drift::python {
namespace {

struct Checkpoint {
  CheckpointOptions options;
  LoadedRun run;
  ModelShapes shapes;
  Loaded<Model> model;
  std::atomic<bool> cancelled = false;
  std::shared_ptr<const Tokenizer> opened_tokenizer;

  Checkpoint(const std::string& folder, const std::vector<ConfigOverride>& overrides)
      : options{folder, {{}, overrides}},
        run(load_run(options.run(), ConfigPurpose::kModelOnly)),
        shapes(run.host(), run.config, WhichAdapters::kSaved),
        model((prepare_device(run.config), open_model(shapes))) {}

  /// Called under Python's lock.
  const std::shared_ptr<const Tokenizer>& tokenizer() {
    if (!opened_tokenizer) opened_tokenizer = std::make_shared<Tokenizer>(Tokenizer::open(run.model_folder()));
    return opened_tokenizer;
  }
};

Checkpoint& checkpoint_in(const Object& object) { return holding_a<Checkpoint>(object); }

std::vector<std::int64_t> ids_in(const Object& list) {
  std::vector<std::int64_t> ids;
  for (const Object& id : list.items()) ids.push_back(id.integer());
  return ids;
}

template <class T>
Object integers(const std::vector<T>& values) {
  std::vector<Object> list;
  for (const T value : values) list.push_back(integer(value));
  return tuple(std::move(list));
}

Object open_checkpoint(const Object& given) {
  const std::string folder = given[0].text();
  const auto overrides = overrides_in(given[1]);
  std::shared_ptr<Checkpoint> opened;
  {
    const WithoutGil released;
    opened = std::make_shared<Checkpoint>(folder, overrides);
  }
  return held(opened);
}

/// (family, vocabulary, mask, padding, end tokens, context, block, device, whether position 0 is never predicted,
/// ranges of ids that are never written).
Object checkpoint_facts(const Object& given) {
  const Checkpoint& checkpoint = checkpoint_in(given[0]);
  const ModelTraits& traits = checkpoint.shapes.traits();
  std::vector<Object> forbidden;
  for (const auto& [first, end] : traits.forbidden_output_ids)
    forbidden.push_back(tuple({integer(first), integer(end)}));
  return tuple({text(traits.family), integer(traits.vocabulary_size), integer(traits.mask_id), integer(traits.pad_id),
                integers(end_ids(traits)), integer(traits.context_length), integer(traits.block_size),
                text(checkpoint.model->device().str()), boolean(traits.prediction_row == PredictionRow::kPrevious),
                tuple(std::move(forbidden))});
}

Object encode(const Object& given) { return integers(checkpoint_in(given[0]).tokenizer()->encode(given[1].text())); }

Object decode(const Object& given) {
  return text(written_text(ids_in(given[1]), *checkpoint_in(given[0]).tokenizer(), given[2].boolean()));
}

/// (checkpoint, settings, (text or ids, …), whether texts are all that is read, samples, number of the first response)
/// → (trajectories, texts).
Object generate(const Object& given) {
  Checkpoint& checkpoint = checkpoint_in(given[0]);
  checkpoint.cancelled = false;
  const auto overrides = overrides_in(given[1]);
  std::vector<PromptSource> sources;
  for (const Object& prompt : given[2].items()) {
    PromptSource& source = sources.emplace_back();
    source.raw = given[3].boolean();
    if (prompt[0].is_none()) {
      source.token_ids = ids_in(prompt[1]);
    } else {
      source.prompt = prompt[0].text();
    }
  }
  RolloutInput input;
  const std::int64_t samples = given[4].integer();
  input.first_response = given[5].integer();
  const auto tokenizer = checkpoint.tokenizer();
  Trajectories made;
  {
    const WithoutGil released;
    CheckpointOptions options = checkpoint.options;
    options.config.overrides.insert(options.config.overrides.end(), overrides.begin(), overrides.end());
    const LoadedRun run = load_run(options.run("rollout.name"), ConfigPurpose::kGenerate);
    const RunPrompts prompts(run, checkpoint.shapes.traits(), tokenizer);
    const auto rollout = create_component<Rollout>(run.host(), run.config, "rollout");
    const std::int64_t length = checked_response_length(*rollout);
    std::vector<std::vector<std::int64_t>> ids;
    for (const PromptSource& source : sources) {
      for (AskedPrompt& asked : read_prompts(source, run, prompts, length)) ids.push_back(std::move(asked.token_ids));
    }
    const ModelPolicy policy(*checkpoint.model);
    input.policy = &policy;
    input.prompts = padded_prompts(ids, samples, checkpoint.shapes.traits().pad_id);
    input.random = RandomStream(run.seed(), "generate");
    input.cancelled = &checkpoint.cancelled;
    const at::NoGradGuard no_gradient;
    made = checked_trajectories(*rollout, input);
  }
  std::vector<Object> texts;
  for (std::int64_t b = 0; b < made.tokens_BL.size(0); ++b) texts.push_back(text(response_text(made, b, *tokenizer)));
  return tuple({fields_of(made), tuple(std::move(texts))});
}

Object cancel(const Object& given) {
  checkpoint_in(given[0]).cancelled = true;
  return none();
}

/// (checkpoint, tokens [B, S], padding or None, places to predict [N]) → hidden states [N, H].
Object hidden(const Object& given) {
  const Model& model = *checkpoint_in(given[0]).model;
  const auto moved = [&](const at::Tensor& tensor) { return tensor.defined() ? tensor.to(model.device()) : tensor; };
  const std::int64_t back = model.traits().prediction_row == PredictionRow::kPrevious ? 1 : 0;
  ForwardInput input;
  input.tokens_BS = moved(unwrapped(given[1]));
  input.key_mask_BS = moved(unwrapped(given[2]));
  input.rows_N = moved(unwrapped(given[3]) - back);
  at::Tensor hidden_NH;
  {
    const WithoutGil released;
    const at::NoGradGuard no_gradient;
    hidden_NH = checked_forward(model, input);
  }
  return wrapped(hidden_NH);
}

Object head(const Object& given) { return wrapped(checkpoint_in(given[0]).model->lm_head_VH().detach()); }

}  // namespace

std::vector<ModuleFunction> checkpoint_functions() {
  return {{"open_checkpoint", open_checkpoint},
          {"checkpoint_facts", checkpoint_facts},
          {"encode", encode},
          {"decode", decode},
          {"generate", generate},
          {"cancel", cancel},
          {"hidden", hidden},
          {"head", head}};
}

}  // namespace drift::python
