#include "tests/support/golden_backbones.h"
#include "tests/support/tensors.h"

#include "tests/support/alone.h"
#include "tests/support/plugins.h"
#include "tests/support/support.h"

#include <core/base/adapters.h>
#include <core/base/component_host.h>
#include <core/io/checkpoint.h>
#include <core/io/safetensors.h>
#include <core/update/policy_gradient.h>
#include <core/update/update_batch.h>

#include <drift/cached_forward.h>

#include <ATen/ops/mm.h>

namespace drift::test {
namespace {

GoldenBackboneCase read_case(const nlohmann::json& json, const std::filesystem::path& root) {
  GoldenBackboneCase golden;
  golden.id = json.at("id");
  const std::string checkpoint = json.at("checkpoint");
  golden.family = checkpoint.substr(0, checkpoint.find('_'));
  golden.checkpoint = root / "ckpt" / checkpoint;
  golden.file = root / json.at("file").get<std::string>();
  golden.mode = json.value("mode", "");
  golden.absolute_tolerance = json.at("atol");
  golden.relative_tolerance = json.value("rtol", 1e-5);
  golden.bfloat16_tolerance = json.value("bf16_atol_suggestion", 0.0);
  golden.window_begin = json.value("start", 0);
  golden.window_end = json.value("end", 0);
  golden.loss = json.value("loss", 0.0);
  if (json.contains("grad_atol")) json["grad_atol"].get_to(golden.gradient_tolerances);
  return golden;
}

/// A full forward that keeps keys and values, then a window against what the mode lets it see.
at::Tensor windowed_logits(const Model& model, const SafetensorsFile& file, const GoldenBackboneCase& golden) {
  const auto& cached = *capability<CachedForward>(model);
  const auto head_VH = model.lm_head_VH();
  const auto all_BS = file.tensor("input_ids_full").to(head_VH.device());
  const auto window_BW = file.tensor("input_ids").to(head_VH.device());
  const auto places = [&](std::int64_t place) { return at::full({all_BS.size(0)}, place, all_BS.options()); };
  const auto cache = cached.make_cache(all_BS.size(0), all_BS.size(1));
  CacheWindow window;
  window.begin_B = places(0);
  if (file.find("attention_mask")) window.key_mask_BS = file.tensor("attention_mask").ne(0).to(head_VH.device());
  cached.forward_window({all_BS, {}, {}}, window, *cache);
  window.begin_B = places(golden.window_begin);
  if (golden.mode != "cache_dual") window.attended_B = places(golden.window_end);
  const auto hidden = cached.forward_window({window_BW, {}, {}}, window, *cache);
  return at::mm(hidden, head_VH.t()).view({window_BW.size(0), window_BW.size(1), -1});
}

Trajectories finished_responses(const SafetensorsFile& file) {
  Trajectories trajectories;
  const auto prompts = file.tensor("prompt_ids"), completions = file.tensor("completion_ids");
  const std::int64_t batch = prompts.size(0);
  // The originals train with padding attended to.
  trajectories.prompts = {prompts, at::ones_like(prompts, at::kBool), at::arange(batch, at::kLong)};
  trajectories.tokens_BL = completions;
  trajectories.valid_BL = file.tensor("completion_mask").ne(0);
  return trajectories;
}

MaskPlan one_view_each(const SafetensorsFile& file) {
  const std::int64_t batch = file.tensor("completion_ids").size(0);
  MaskPlan plan;
  plan.response_F = at::arange(batch, at::kLong);
  plan.masked_FL = file.tensor("should_mask").ne(0);
  plan.target_FL = file.tensor("completion_mask").ne(0);
  return plan;
}

/// The sum of the log-probabilities at some of the targets.
class MaskedSum final : public LossEstimator {
 public:
  explicit MaskedSum(at::Tensor mask_FL) : mask_FL_(std::move(mask_FL)) {}
  Coupling coupling() const override { return Coupling::kBatch; }
  Loss evaluate(const LossInput& input) const override { return {(input.log_probs.current_FL * mask_FL_).sum(), {}}; }

 private:
  at::Tensor mask_FL_;
};

std::unique_ptr<Model> open(const std::string& family, const std::filesystem::path& folder, const ModelConfig& config,
                            const std::map<std::string, Parameter::Value>& settings) {
  const ComponentEntry* entry = load_plugin(family).find(ComponentKind::kModel, family);
  auto made = host().make(*entry, Parameters(entry->params, settings), &config);
  std::unique_ptr<Model> model(dynamic_cast<Model*>(made.release()));
  const at::NoGradGuard no_gradient;
  load_parameters(folder, base_parameters(*model));
  return model;
}

}  // namespace

std::vector<GoldenBackboneCase> golden_backbone_cases(const std::string& group) {
  const auto root = source_dir() / "tests/golden/data";
  const auto manifest = nlohmann::json::parse(read_file(root / "manifest.json"));
  std::vector<GoldenBackboneCase> cases;
  for (const auto& json : manifest.at("cases")) {
    if (json.at("group") == group) cases.push_back(read_case(json, root));
  }
  return cases;
}

std::vector<GoldenBackboneCase> golden_bfloat16_cases() {
  auto cases = golden_backbone_cases("forward");
  std::erase_if(cases, [](const auto& golden) { return golden.bfloat16_tolerance == 0; });
  return cases;
}

std::unique_ptr<Model> open_checkpoint(const std::string& family, const std::filesystem::path& folder,
                                       at::ScalarType dtype, at::Device device,
                                       const std::map<std::string, Parameter::Value>& settings) {
  return open(family, folder, {read_config_json(folder), dtype, device}, settings);
}

std::unique_ptr<Model> open_with_adapters(const std::string& family, const std::filesystem::path& folder,
                                          const AdapterDescription& adapter) {
  ModelConfig config{read_config_json(folder)};
  config.adapter_json = adapter_json(adapter);
  return open(family, folder, config, {});
}

LogitComparison check_forward_case(const GoldenBackboneCase& golden, at::ScalarType dtype, at::Device device) {
  std::map<std::string, Parameter::Value> settings;
  if (golden.mode == "leftpad_ignored") settings["padding"] = "attended";
  const auto model = open_checkpoint(golden.family, golden.checkpoint, dtype, device, settings);
  const SafetensorsFile file(golden.file);
  if (golden.window_end > 0) {
    const ReferenceLogits reference{file.tensor("input_ids"), {}, {}, file.tensor("logits")};
    return compare_logits(windowed_logits(*model, file, golden), reference, golden.relative_tolerance);
  }
  auto reference = read_reference_logits(SafetensorsFile(golden.file), model->traits());
  if (file.find("compare_mask") == nullptr) reference.compare_mask_BS = at::Tensor();
  return check_logits(*model, reference, golden.relative_tolerance);
}

void check_log_probability_case(const GoldenBackboneCase& golden, at::Device device) {
  std::map<std::string, Parameter::Value> settings;
  if (golden.family == "dream" && golden.id.ends_with("_drift")) settings["scored_row"] = "within_response";
  const auto model = open_checkpoint(golden.family, golden.checkpoint, at::kFloat, device, settings);
  const SafetensorsFile file(golden.file);
  const auto trajectories = finished_responses(file);
  const auto plan = one_view_each(file);
  const MaskedSum loss(file.tensor("target_mask").to(device));
  const UpdateBatch batch = update_batch(trajectories, at::ones({plan.response_F.size(0)}), plan, /*group_size=*/1);
  const auto computed = policy_gradient(alone, *model, loss, batch, std::int64_t{1} << 30);
  EXPECT_TRUE(at::allclose(computed.current_FL.cpu(), file.tensor("logps"), 1e-5, golden.absolute_tolerance));
  const auto scored_tokens = static_cast<double>(file.tensor("target_mask").sum().item<std::int64_t>());
  EXPECT_NEAR(computed.loss, golden.loss, scored_tokens * golden.absolute_tolerance);
  std::size_t compared = 0;
  for (std::size_t p = 0; p < computed.gradients.size(); ++p) {
    const auto name = model->parameters()[p].name;
    const auto tolerance = golden.gradient_tolerances.find(name);
    if (tolerance == golden.gradient_tolerances.end()) continue;
    EXPECT_TRUE(at::allclose(computed.gradients[p].cpu(), file.tensor("grad." + name), 1e-5, tolerance->second))
        << name;
    ++compared;
  }
  EXPECT_EQ(compared, golden.gradient_tolerances.size());
}

}  // namespace drift::test
