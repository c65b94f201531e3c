// A checkpoint in Python's process: what it writes, and the log-probabilities that it gives.

#include <core/boundary/checked.h>
#include <core/boundary/components.h>
#include <core/boundary/model_policy.h>
#include <core/cli/generate_prompts.h>
#include <core/cli/python/module.h>
#include <core/python/structures.h>
#include <core/kernels/linear_log_softmax.h>
#include <core/python/tensors.h>
#include <core/rollout/response_text.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/nonzero.h>
#include <ATen/ops/zeros.h>

#include <optional>

namespace drift::python {
namespace {

/// A rollout of a checkpoint, and what makes its prompts.
struct Decoder {
  LoadedRun run;
  RunPrompts prompts;
  Loaded<Rollout> rollout;

  Decoder(const ConfigOptions& options, const ModelTraits& traits)
      : run(load_run(options, ConfigPurpose::kGenerate)),
        prompts(run, traits),
        rollout(create_component<Rollout>(run.host(), run.config, "rollout")) {}
};

struct Checkpoint {
  CheckpointOptions options;
  LoadedRun run;
  ModelShapes shapes;
  Loaded<Model> model;
  Tokenizer tokenizer;
  std::atomic<bool> cancelled = false;
  std::string decoder_settings;      ///< of `decoder`
  std::optional<Decoder> decoder;    ///< the last one that was asked for

  Checkpoint(const std::string& folder, const std::vector<ConfigOverride>& overrides)
      : options{folder, {{}, overrides}},
        run(load_run(options.run(), ConfigPurpose::kModelOnly)),
        shapes(run.host(), run.config, WhichAdapters::kSaved),
        model((prepare_device(run.config), open_model(shapes))),
        tokenizer(Tokenizer::open(run.model_folder())) {}

  const Decoder& decoder_with(const std::vector<ConfigOverride>& overrides) {
    CheckpointOptions own = options;
    std::string settings;
    for (const ConfigOverride& setting : overrides) {
      own.config.overrides.push_back(setting);
      settings += setting.flag + "\n";
    }
    if (!decoder || settings != decoder_settings) {
      decoder.reset();
      decoder.emplace(own.run("rollout.name"), shapes.traits());
      decoder_settings = settings;
    }
    return *decoder;
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

/// (family, vocabulary, mask, padding, end tokens, context, block, device).
Object checkpoint_facts(const Object& given) {
  const Checkpoint& checkpoint = checkpoint_in(given[0]);
  const ModelTraits& traits = checkpoint.shapes.traits();
  return tuple({text(traits.family), integer(traits.vocabulary_size), integer(traits.mask_id), integer(traits.pad_id),
                integers(end_ids(traits)), integer(traits.context_length), integer(traits.block_size),
                text(checkpoint.model->device().str())});
}

Object encode(const Object& given) { return integers(checkpoint_in(given[0]).tokenizer.encode(given[1].text())); }

Object decode(const Object& given) {
  return text(written_text(ids_in(given[1]), checkpoint_in(given[0]).tokenizer, given[2].boolean()));
}

Object pieces(const Object& given) {
  std::vector<Object> list;
  for (const std::string& piece : display_pieces(ids_in(given[1]), checkpoint_in(given[0]).tokenizer))
    list.push_back(text(piece));
  return tuple(std::move(list));
}

/// (checkpoint, settings, (text or ids, …), whether texts are all that is read, samples, number of the first response)
/// → (trajectories, texts).
Object generate(const Object& given) {
  Checkpoint& checkpoint = checkpoint_in(given[0]);
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
  Trajectories made;
  {
    const WithoutGil released;
    const Decoder& decoder = checkpoint.decoder_with(overrides);
    const std::int64_t length = checked_response_length(*decoder.rollout);
    std::vector<std::vector<std::int64_t>> ids;
    for (const PromptSource& source : sources) {
      for (AskedPrompt& asked : read_prompts(source, decoder.run, decoder.prompts, length))
        ids.push_back(std::move(asked.token_ids));
    }
    const ModelPolicy policy(*checkpoint.model);
    checkpoint.cancelled = false;
    input.policy = &policy;
    input.prompts = padded_prompts(ids, samples, checkpoint.shapes.traits().pad_id);
    input.random = RandomStream(decoder.run.seed(), "generate");
    input.cancelled = &checkpoint.cancelled;
    const at::NoGradGuard no_gradient;
    made = checked_trajectories(*decoder.rollout, input);
  }
  std::vector<Object> texts;
  for (std::int64_t b = 0; b < made.tokens_BL.size(0); ++b)
    texts.push_back(text(response_text(made, b, checkpoint.tokenizer)));
  return tuple({fields_of(made), tuple(std::move(texts))});
}

Object cancel(const Object& given) {
  checkpoint_in(given[0]).cancelled = true;
  return none();
}

at::Tensor on_device(const at::Tensor& tensor, const Model& model) { return tensor.to(model.device()); }

/// (checkpoint, tokens [B, S], padding or None) → logits [B, S, V]. What the first token of a text is is not predicted by
/// every family: its row is 0 there.
Object logits(const Object& given) {
  const Checkpoint& checkpoint = checkpoint_in(given[0]);
  const at::Tensor tokens_BS = unwrapped(given[1]), key_mask_BS = unwrapped(given[2]);
  at::Tensor logits_BSV;
  {
    const WithoutGil released;
    const at::NoGradGuard no_gradient;
    ForwardInput input;
    input.tokens_BS = on_device(tokens_BS, *checkpoint.model);
    if (key_mask_BS.defined()) input.key_mask_BS = on_device(key_mask_BS, *checkpoint.model);
    const std::int64_t rows = tokens_BS.size(0), length = tokens_BS.size(1);
    const std::int64_t first = checkpoint.shapes.traits().prediction_row == PredictionRow::kPrevious ? 1 : 0;
    const auto row_BS = at::arange(rows * length, input.tokens_BS.options()).view({rows, length});
    input.rows_N = row_BS.slice(1, first).reshape({-1});
    const auto predicted_NV = ModelPolicy(*checkpoint.model).logits(input, {});
    logits_BSV = at::zeros({rows, length, predicted_NV.size(1)}, predicted_NV.options());
    logits_BSV.slice(1, first).copy_(predicted_NV.view({rows, length - first, -1}));
  }
  return wrapped(logits_BSV);
}

/// (checkpoint, tokens [B, S], masked [B, S], padding or None) → log-probabilities of the masked tokens, 0 elsewhere.
Object logprobs(const Object& given) {
  const Checkpoint& checkpoint = checkpoint_in(given[0]);
  const at::Tensor tokens_BS = unwrapped(given[1]), masked_BS = unwrapped(given[2]), key_mask_BS = unwrapped(given[3]);
  at::Tensor logprob_BS;
  {
    const WithoutGil released;
    const at::NoGradGuard no_gradient;
    const Model& model = *checkpoint.model;
    const ModelTraits& traits = model.traits();
    const auto place_N = at::nonzero(masked_BS.reshape({-1})).squeeze(1);
    ForwardInput input;
    input.tokens_BS = on_device(tokens_BS.masked_fill(masked_BS, traits.mask_id), model);
    if (key_mask_BS.defined()) input.key_mask_BS = on_device(key_mask_BS, model);
    input.rows_N = on_device(place_N - (traits.prediction_row == PredictionRow::kPrevious ? 1 : 0), model);
    const auto hidden_NH = checked_forward(model, input);
    const auto token_N = on_device(tokens_BS.reshape({-1}).index_select(0, place_N), model);
    const auto row_N = at::arange(place_N.size(0), token_N.options());
    const auto scores = kernels::LinearLogSoftmax(model.lm_head_VH()).score(hidden_NH, {row_N, token_N}, false);
    const auto flat = at::zeros({tokens_BS.numel()}, scores.logprob_E.options());
    flat.index_copy_(0, on_device(place_N, model), scores.logprob_E);
    logprob_BS = flat.view_as(tokens_BS);
  }
  return wrapped(logprob_BS);
}

}  // namespace

std::vector<ModuleFunction> checkpoint_functions() {
  return {{"open_checkpoint", open_checkpoint},
          {"checkpoint_facts", checkpoint_facts},
          {"encode", encode},
          {"decode", decode},
          {"pieces", pieces},
          {"generate", generate},
          {"cancel", cancel},
          {"logits", logits},
          {"logprobs", logprobs}};
}

}  // namespace drift::python
