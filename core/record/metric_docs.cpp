#include <core/record/metric_docs.h>

namespace drift {
namespace {

constexpr const char* kShare = "[0, 1]";
constexpr const char* kCount = ">= 0";

RecordDoc step_doc() {
  return {
      "metrics.jsonl",
      "a run",
      "`drift train` and `drift pretrain` add an object for every step; what a step does not have is null "
      "or missing",
      {{"step", "steps", ">= 0", "number of the training step, from 1; 0 is the evaluation before the first step"},
       {"loss", "", "",
        "what the loss plugin computes, mean over the step's optimizer steps; pretrain: negative "
        "log-likelihood bound per token"},
       {"reward", "", "", "mean over all responses of the rollout of the weighted sum of rewards"},
       {"solved", "share", kShare, "share of the rollout's responses that the reward calls solved"},
       {"grad_norm", "", kCount, "norm of the gradient before clipping, mean over the step's optimizer steps"},
       {"live_groups", "groups", kCount, "groups whose rewards differ: only these give a signal"},
       {"kept_groups", "groups", kCount, "groups that [filter] left, which were trained on"},
       {"groups", "groups", kCount, "groups of the rollout: train.prompts_per_step"},
       {"response_length", "tokens", kCount, "mean of the responses' tokens, without padding"},
       {"forwards_per_response", "forwards", kCount,
        "evaluations of the model that writing a response took, mean over the rollout"},
       {"tokens_per_second", "tokens/s", kCount,
        "response tokens per second of rollout; pretrain: all tokens per second of the step"},
       {"learning_rate", "", kCount, "AdamW's learning rate at the beginning of the step"},
       {"update_forwards_per_response", "sequences", kCount,
        "masked sequences that went through the model in the update, those of the old and the reference policy "
        "included; equal contexts count once"},
       {"update_backwards_per_response", "sequences", kCount, "the same, for backward passes"},
       {"token_surprisal", "nats", kCount,
        "- log-probability of a token when it was committed, mean over the rollout's tokens: how uncertain the policy "
        "was"},
       {"same_responses", "share", kShare,
        "of the responses after the first of each group: whose text equals that of an earlier one; 1: all of a group "
        "are equal"},
       {"rollout_gap", "nats", kCount,
        "mean absolute difference between a token's log-probability when it was committed and in the complete state "
        "that training scores, with the same weights; one denoising step each of train.gap_responses responses; "
        "rounding unless the rollout has a cache or a horizon, or guides"},
       {"rollout_gap_max", "nats", kCount, "the largest of these differences"},
       {"rollout_weight", "", kCount,
        "with algorithm.rollout_correction: mean weight of the tokens that are scored in the state that committed "
        "them"},
       {"rollout_capped", "share", kShare, "of these tokens, whose weight is the cap"},
       {"value_loss", "", kCount,
        "with value.enabled: loss of the value model, mean over its optimizer steps of this step"},
       {"value_explained_variance", "", "at most 1",
        "with value.enabled: share of the variance of the scored tokens' returns that the estimates before the update "
        "explain; below 0: they are worse than one number for all"},
       {"rank_idle", "share", kShare,
        "of the step, that a process spent in exchanges with the others and waiting for them; mean over the processes, "
        "where there are several"},
       {"rank_idle_max", "share", kShare, "the largest of these shares"},
       {"rank_idle/RANK", "share", kShare, "the share of one process; of the first 16"},
       {"two_pass", "true / false", "",
        "a coupled loss exceeded the memory budget: contexts were scored first, then computed in parts"},
       {"skipped", "true / false", "", "nothing could be learned: no optimizer step"},
       {"reward.LABEL", "", "", "mean of one reward before its weight, where there are several"},
       {"loss/NAME", "", "",
        "what the loss reports, mean over what it counts; explained under Metrics on the page of "
        "the algorithm that the loss belongs to"},
       {"loss/ratio", "", kCount,
        "losses with a ratio: mean of exp(current - old log-probability); 1 in the first optimizer step of a "
        "rollout"},
       {"loss/clip_fraction", "share", kShare, "losses with a clip: where it is active, so that no gradient flows"},
       {"loss/kl", "", "", "losses with a KL term: mean of its estimator, where there is a reference policy"},
       {"COMPONENT/NAME", "", "", "what another component reports (drift::Host::metric): sum / count over the step"},
       {"seconds.rollout", "s", kCount, "wall-clock time of writing the responses"},
       {"seconds.reward", "s", kCount, "of judging them"},
       {"seconds.old", "s", kCount,
        "of the old policy's log-probabilities, where the update does not yield them itself"},
       {"seconds.reference", "s", kCount, "of the reference policy's log-probabilities"},
       {"seconds.value", "s", kCount, "of the value model's estimates and its update, where there is one"},
       {"seconds.update", "s", kCount, "of forwards with gradients, loss, backwards and optimizer"},
       {"seconds.other", "s", "", "the rest of the step, and of writing down the step before"},
       {"seconds.total", "s", kCount, "of the whole step, without evaluation and checkpoint"},
       {"held_out.accuracy", "share", kShare, "solved held-out items, where the step was evaluated"},
       {"held_out.standard_error", "share", kShare, "of the accuracy, binomial with the items as trials"},
       {"held_out.items", "items", kCount, "held-out items whose responses could be judged"},
       {"held_out.forwards_per_response", "forwards", kCount, "as forwards_per_response, in the evaluation"},
       {"held_out.seconds", "s", kCount, "of the evaluation"},
       {"held_out.validation", "share", kShare,
        "accuracy on the evaluation.validation_items, which held_out.accuracy leaves out; missing if there are none"}}};
}

/// Those that are not called as in metrics.jsonl.
RecordDoc column_doc() {
  return {
      "the printed table",
      "a run",
      "What `drift train`, `drift pretrain` and `drift watch` print; a row is the mean over the steps since the last",
      {{"held-out", "%", "[0, 100]", "held_out.accuracy in per cent, where the step was evaluated"},
       {"kl", "", "", "loss/kl: mean of the loss's KL term"},
       {"live", "groups", kCount, "live_groups / groups: groups whose rewards differ, and all groups of a step"},
       {"utility", "share", kShare, "loss/token_utility: pairs of a forward and a token that the loss learns from"},
       {"grad", "", kCount, "grad_norm: norm of the gradient before clipping"},
       {"lr", "", kCount, "learning_rate of AdamW at the beginning of the step"},
       {"rollout", "s", kCount, "seconds.rollout: a step's time of writing the responses"},
       {"update", "s", kCount, "seconds.update + seconds.old + seconds.reference: a step's time of the gradient"},
       {"tokens/s", "tokens/s", kCount, "tokens_per_second"},
       {"left", "", "", "the time until the last step, at the pace of the last ones"},
       {"rate", "", "", "`drift watch`: the pace of the last steps"},
       {"state", "text", "", "`drift watch`, `drift runs`: no run yet, running, finished, stopped, failed or lost"},
       {"alarms", "alarms", kCount, "`drift watch`: how many of [alarms] the run has raised"}}};
}

RecordDoc summary_doc() {
  return {"summary.json",
          "a run",
          "One object, written from the first evaluation on, and when the run ends, is stopped or fails",
          {{"version", "text", "", "of the Drift that wrote it"},
           {"status", "text", "", "unfinished, finished, interrupted (by a signal) or failed"},
           {"error", "text", "", "why it failed"},
           {"algorithm", "text", "", "algorithm.name; missing in pretraining"},
           {"method", "text", "",
            "the algorithm with the masking strategy and loss that are not its own; missing where both are"},
           {"model", "text", "", "the backbone's family"},
           {"task", "text", "", "task.name"},
           {"seed", "", kCount, "run.seed"},
           {"device", "text", "", "run.device"},
           {"threads", "threads", ">= 1", "that the run computed with"},
           {"steps", "steps", kCount, "the last finished step"},
           {"seconds", "s", kCount, "of training, all starts together, without evaluations and checkpoints"},
           {"evaluation_seconds", "s", kCount, "of evaluations, likewise"},
           {"start_seconds", "s", kCount, "from the start of the program to the first evaluation or step, likewise"},
           {"total_seconds", "s", kCount, "of the program: these three, checkpoints and reports, likewise"},
           {"peak_memory_mib", "MiB", kCount, "largest resident memory of the process of the last start"},
           {"checkpoint", "text", "", "folder of the last checkpoint in checkpoints/"},
           {"warnings.TEXT", "steps", ">= 1",
            "how often a warning was due since the last start; missing if there was none"},
           {"held_out.before", "share", kShare, "accuracy on held-out items before the first step"},
           {"held_out.before_standard_error", "share", kShare, "of held_out.before"},
           {"held_out.after", "share", kShare, "accuracy at the last evaluation"},
           {"held_out.standard_error", "share", kShare, "of held_out.after"},
           {"held_out.items", "items", kCount, "of the last evaluation"},
           {"held_out.validation", "share", kShare,
            "accuracy of the last evaluation on the evaluation.validation_items, which held_out.after leaves out"}}};
}

RecordDoc changes_doc() {
  return {"changes.jsonl",
          "a run",
          "An object for every setting that was changed when the run was resumed",
          {{"step", "steps", kCount, "the last one with the setting as it was"},
           {"key", "text", "", "of the setting, with its section"},
           {"before", "text", "", "its value until then, as TOML"},
           {"after", "text", "", "its value from then on, as TOML"}}};
}

RecordDoc response_doc() {
  return {
      "responses/CELL.jsonl",
      "an evaluation",
      "With --out or --suite: an object for every response",
      {{"id", "text", "", "of the item"},
       {"task", "text", "", "of the cell"},
       {"length", "tokens", ">= 1", "positions that the response could have"},
       {"schedule", "text", "", "rollout.schedule; empty where the evaluation has but one"},
       {"sample", "", kCount, "number of the response among those to its item"},
       {"question", "text", "", "the item's question"},
       {"prefix", "text", "", "first words of the response that the model was given"},
       {"reference", "text", "", "the item's reference answer"},
       {"response", "text", "", "what the model wrote"},
       {"tokens", "tokens", kCount, "that the model wrote, without the end token"},
       {"forwards", "forwards", kCount, "evaluations of the model that it took"},
       {"truncated", "true / false", "", "there is no end token"},
       {"value", "", "", "weighted sum of the rewards"},
       {"solved", "true / false", "", "what accuracy counts"},
       {"status", "text", "", "how judging went: ok, or what went wrong"},
       {"reason", "text", "", "of the verdict, in words"},
       {"rewards.LABEL", "object", "", "value, solved, status and reason of each reward, where there are several"},
       {"seconds", "s", kCount, "of writing: the batch's time, divided by its responses"},
       {"prompt_checksum", "text", "", "of all that the model read"},
       {"token_ids", "list", "", "the tokens themselves"},
       {"trajectory", "object", "",
        "with evaluation.trajectories: ids of prompt and response, and of each position the forward, log-probability "
        "and entropy with which it was committed"}}};
}

RecordDoc cell_doc() {
  return {
      "cells.csv",
      "an evaluation",
      "With --out or --suite: a line for every cell; `drift eval --json` has the same names",
      {{"cell", "text", "", "name of the cell and of its files"},
       {"task", "text", "", "of the cell"},
       {"length", "tokens", kCount, "response positions"},
       {"schedule", "text", "", "rollout.schedule; empty where the evaluation has but one"},
       {"accuracy", "share", kShare, "mean over items of the share of their judged responses that are solved"},
       {"standard_error", "share", kShare, "of the accuracy: binomial with one response an item, else over the items"},
       {"low_95", "share", kShare, "lower end of Wilson's 95 % interval, with the items as trials"},
       {"high_95", "share", kShare, "its upper end"},
       {"samples", "responses", ">= 1", "to an item: k of the two below"},
       {"pass_at_k", "share", kShare, "items of which a response is solved"},
       {"majority_at_k", "share", kShare,
        "items whose most frequent answer is solved: the last box or answer block, else the whole text; all solved "
        "responses have the same, and win where others were given as often"},
       {"reward", "", "", "mean of the responses' values, item by item"},
       {"tokens_per_second", "tokens/s", kCount, "written tokens per second of writing"},
       {"forwards_per_response", "forwards", kCount, "evaluations of the model that writing a response took"},
       {"tokens_per_response", "tokens", kCount, "written, without the end token"},
       {"truncated", "share", kShare, "responses without an end token"},
       {"items", "items", kCount, "with a judged response"},
       {"responses", "responses", kCount, "that are there"},
       {"responses_wanted", "responses", kCount, "of the whole cell"},
       {"not_judged", "responses", kCount, "could not be judged; they count nowhere in accuracy"},
       {"seconds", "s", kCount, "of writing all responses"}}};
}

RecordDoc runs_doc() {
  return {"runs.csv",
          "a sweep",
          "A line for every run, after a column for each axis; `drift sweep --json` has the same names",
          {{"seed", "", kCount, "run.seed"},
           {"folder", "text", "", "the run's own folder"},
           {"status", "text", "", "new, partial, failed or finished"},
           {"problem", "text", "", "why it failed"},
           {"step", "steps", kCount, "the last finished one"},
           {"steps", "steps", ">= 1", "that it shall have"},
           {"held_out_accuracy", "share", kShare, "after the last step"},
           {"validation_accuracy", "share", kShare, "the same on the evaluation.validation_items"},
           {"training_reward", "", "", "reward of metrics.jsonl, mean over the last tenth of the steps"},
           {"training_solved", "share", kShare, "solved of metrics.jsonl, likewise"},
           {"seconds", "s", kCount, "of training, without evaluations"},
           {"seconds_per_step", "s", kCount, "mean of seconds.total"},
           {"rollout_forwards_per_response", "forwards", kCount, "mean of forwards_per_response"},
           {"update_forwards_per_response", "sequences", kCount, "mean over the steps"},
           {"update_backwards_per_response", "sequences", kCount, "mean over the steps"},
           {"rollout_gap", "nats", kCount, "mean over the steps"},
           {"peak_memory_mib", "MiB", kCount, "of summary.json"},
           {"threads", "threads", ">= 1", "of summary.json"},
           {"drift", "text", "", "version of the Drift that made it"}}};
}

RecordDoc table_doc() {
  return {
      "table.csv",
      "a sweep",
      "A line for every cell, after a column for each axis; `drift sweep --json` has the same names, and MEASURE is "
      "what the sweep compares: held_out_accuracy_percent, reward or solved_percent",
      {{"runs", "runs", kCount, "that are finished"},
       {"seeds", "runs", ">= 1", "that the cell shall have"},
       {"MEASURE", "", "", "mean over the finished runs"},
       {"MEASURE_standard_error", "", kCount, "over the seeds"},
       {"difference", "", "", "to the baseline of the compared axis, seed by seed, in the measure's unit"},
       {"difference_standard_error", "", kCount, "over the pairs of runs with the same seed"},
       {"difference_pairs", "runs", kCount, "seeds that both have"},
       {"p_holm", "probability", kShare,
        "of the paired t-test of the difference, two-sided, with Holm's correction over the table"},
       {"validation_accuracy", "share", kShare, "mean over the runs of validation_accuracy in runs.csv"},
       {"training_reward", "", "", "mean over the runs of training_reward in runs.csv"},
       {"training_reward_standard_error", "", kCount, "over the seeds"},
       {"seconds_per_step", "s", kCount, "mean over the runs, as the five below"},
       {"seconds_per_run", "s", kCount, "of training, without evaluations"},
       {"rollout_forwards_per_response", "forwards", kCount, "as in runs.csv"},
       {"update_forwards_per_response", "sequences", kCount, "as in runs.csv"},
       {"update_backwards_per_response", "sequences", kCount, "as in runs.csv"},
       {"rollout_gap", "nats", kCount, "as in runs.csv"},
       {"peak_memory_mib", "MiB", kCount, "of the largest run"},
       {"settings", "text", "", "in which the cell differs from its baseline, presets' values included"}}};
}

RecordDoc results_doc() {
  return {"results.csv",
          "a comparison",
          "`drift report` of several runs: a row for every line, which is runs that differ in nothing but the seed; "
          "`--json` has the same names",
          {{"line", "text", "", "what sets the line apart"},
           {"runs", "runs", kCount, "that are finished; what follows is their mean"},
           {"runs_begun", "runs", ">= 1", "that there are"},
           {"held_out_accuracy_percent", "%", "[0, 100]", "on held-out items after the last step"},
           {"held_out_accuracy_percent_standard_error", "%", kCount, "over the seeds"},
           {"reward", "", "", "reward of metrics.jsonl, mean over the last tenth of the steps"},
           {"reward_standard_error", "", kCount, "over the seeds"},
           {"solved_percent", "%", "[0, 100]", "solved of metrics.jsonl, likewise"},
           {"solved_percent_standard_error", "%", kCount, "over the seeds"},
           {"steps", "steps", kCount, "the last one"},
           {"rollout_forwards_per_response", "forwards", kCount, "as in runs.csv"},
           {"update_forwards_per_response", "sequences", kCount, "as in runs.csv"},
           {"update_backwards_per_response", "sequences", kCount, "as in runs.csv"},
           {"forwards_per_run", "sequences", kCount,
            "that went through the model in rollouts and updates together: forwards of a response, times groups, times "
            "train.group_size"},
           {"forwards_per_run_standard_error", "sequences", kCount, "over the seeds"},
           {"seconds_per_run", "s", kCount, "sum of seconds.total"},
           {"seconds_per_run_standard_error", "s", kCount, "over the seeds"},
           {"peak_memory_mib", "MiB", kCount, "of summary.json"}}};
}

RecordDoc differences_doc() {
  return {"differences.csv",
          "a comparison",
          "`drift report` of several runs: a row for every line but the baseline; `--json` has the same names",
          {{"line", "text", "", "as in results.csv"},
           {"baseline", "text", "", "the line that it is compared with"},
           {"measure", "text", "", "what is compared: a column of results.csv"},
           {"pairs", "runs", kCount, "seeds of which both lines have a finished run"},
           {"difference", "", "", "line - baseline, mean over the pairs"},
           {"standard_error", "", kCount, "of the difference, over the pairs"},
           {"low_95", "", "", "lower end of Student's 95 % interval of the difference, not corrected"},
           {"high_95", "", "", "its upper end"},
           {"t", "", "", "difference / standard_error; missing where all pairs differ by the same"},
           {"p", "probability", kShare, "of so large a t with pairs - 1 degrees of freedom, two-sided"},
           {"p_holm", "probability", kShare, "p with Holm's correction for the number of lines that were tested"}}};
}

RecordDoc figure_doc() {
  return {"FIGURE.csv",
          "a comparison",
          "`drift report` of several runs: the points of FIGURE.svg, a row for every line and step",
          {{"line", "text", "", "as in results.csv"},
           {"step", "steps", kCount, "of training"},
           {"forwards", "sequences", kCount, "through the model up to here, mean over the runs"},
           {"seconds", "s", kCount, "of training up to here, mean over the runs"},
           {"runs", "runs", ">= 1", "that know the value"},
           {"mean", "", "", "over these runs; of noisy measures, each run as its moving mean"},
           {"standard_error", "", kCount, "over the seeds"},
           {"band_low", "", "", "lower edge of the band: --band"},
           {"band_high", "", "", "its upper edge"}}};
}

}  // namespace

const std::vector<RecordDoc>& record_docs() {
  static const std::vector<RecordDoc> docs = {step_doc(),     column_doc(),      summary_doc(), changes_doc(),
                                              response_doc(), cell_doc(),        runs_doc(),    table_doc(),
                                              results_doc(),  differences_doc(), figure_doc()};
  return docs;
}

}  // namespace drift
