"""PPO's clip replaced by a smooth weight."""

import drift


class SoftClip(drift.Loss):
    """PPO with a smooth clip."""

    # The ratio is taken token by token, so any split of the views into micro-batches gives the same gradient.
    coupling = "view"
    width = drift.parameter(4.0, "curvature of the weight", minimum=0)

    def evaluate(self, input: drift.LossInput):
        # Bounded, or exp() would be infinite for a token that the old policy all but excluded.
        log_ratio_FL = drift.log_ratio(input.current_FL, input.old_FL, input.plan.target_FL, clamp=20)
        gain_FL = input.token_advantage * log_ratio_FL.exp() / (1 + self.width * log_ratio_FL.square())
        return input.token_mean(-gain_FL)
