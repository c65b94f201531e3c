#include <core/cli/command.h>

namespace drift {

const std::vector<Command>& commands() {
  static const std::vector<Command> all = {
      train_command(),       pretrain_command(),    sweep_command(),        eval_command(),
      eval_diff_command(),   generate_command(),    model_info_command(),   model_verify_command(),
      data_stats_command(),  data_show_command(),   data_check_command(),   tokenize_command(),
      plugin_list_command(), plugin_info_command(), plugin_check_command(), plugin_presets_command(),
      reward_command(),      loss_command(),        config_show_command(),  doctor_command(),
      sdk_command(),         version_command()};
  return all;
}

}  // namespace drift
