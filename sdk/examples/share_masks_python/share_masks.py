"""Masks of single tokens: each view hides a random share of a response."""

import drift
import torch


class ShareMasks(drift.Masking):
    """A random share of a response's tokens, masked and scored together."""

    refresh = "each_inner_iteration"
    views = drift.parameter(4, "masked contexts of a response", minimum=1, maximum=256)
    share_low = drift.parameter(0.2, "smallest share of masked tokens", above=0, maximum=1)
    share_high = drift.parameter(0.8, "largest share of masked tokens", above=0, maximum=1)

    def __init__(self, **values):
        super().__init__(**values)
        if self.share_low > self.share_high:
            raise drift.Error("share_low is above share_high", "set both, the smaller one low")

    def plan(self, input: drift.MaskingInput) -> drift.Plan:
        text_BL = input.through_end_BL  # the padding after the end of the text teaches nothing
        responses, length = text_BL.shape
        # Drawn at points that name the response, the position and the view: the same masks in any batch.
        response_B11 = input.response_number_B.view(-1, 1, 1)
        view_V1 = torch.arange(self.views).view(-1, 1)
        at = {"step": input.step, "response": response_B11, "draw": input.inner_iteration * self.views + view_V1}
        share_BV1 = self.share_low + (self.share_high - self.share_low) * input.random.child("share").uniform(**at)
        rank_BVL = input.random.child("rank").uniform(position=torch.arange(length), **at)
        rank_BVL = rank_BVL.masked_fill(~text_BL.unsqueeze(1), 2).argsort(-1).argsort(-1)
        tokens_B11 = text_BL.sum(1).view(-1, 1, 1)
        masked_BVL = rank_BVL < (share_BV1 * tokens_B11).round().clamp(min=1)
        masked_FL = masked_BVL.flatten(0, 1)
        self.metric("masked_share", masked_FL.sum(), self.views * tokens_B11.sum())
        return drift.Plan(
            response_F=torch.arange(responses).repeat_interleave(self.views),
            term_F=torch.arange(self.views).repeat(responses),
            masked_FL=masked_FL,
            target_FL=masked_FL,
            terms=self.views,
            # The inverse share: in expectation every token counts once per view.
            weight_F=(tokens_B11.squeeze(-1) / masked_BVL.sum(-1)).flatten().float(),
        )
