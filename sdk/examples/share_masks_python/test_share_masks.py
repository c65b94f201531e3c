"""python3 -m unittest, in a Python that has torch."""

import unittest

import drift
import torch
from share_masks import ShareMasks


def draw(numbers, tokens=None, step=3, inner_iteration=0, **parameters):
    """The plan for responses of 10 tokens with these numbers in the rollout; 9 ends a text."""
    count = len(numbers)
    tokens_BL = torch.ones(count, 10, dtype=torch.long) if tokens is None else torch.tensor(tokens)
    nothing = torch.zeros(count, 0)
    responses = drift.Trajectories(nothing, nothing, torch.arange(count), tokens_BL, *[None] * 4)
    input = drift.MaskingInput(
        responses, drift.RandomStream(7, "test"), step, torch.tensor(numbers), inner_iteration, end_id=9
    )
    return ShareMasks(**parameters).plan(input)


class ShareMasksTest(unittest.TestCase):
    def test_masks_and_scores_the_share(self):
        plan = draw([0, 1], share_low=0.3, share_high=0.3)
        self.assertEqual(plan.masked_FL.sum(1).tolist(), [3] * 8)
        self.assertTrue(torch.equal(plan.masked_FL, plan.target_FL))
        self.assertTrue(torch.allclose(plan.weight_F, torch.full([8], 10 / 3)))

    def test_leaves_out_what_comes_after_the_end(self):
        plan = draw([0], [[1, 1, 1, 9, 0, 0, 0, 0, 0, 0]], share_low=1.0, share_high=1.0)
        self.assertEqual(plan.masked_FL.long().tolist(), [[1, 1, 1, 1, 0, 0, 0, 0, 0, 0]] * 4)

    def test_a_response_gets_the_same_masks_alone_and_in_a_batch(self):
        batch, alone = draw([0, 5, 2]), draw([5])
        self.assertTrue(torch.equal(batch.masked_FL[4:8], alone.masked_FL))

    def test_another_step_iteration_or_response_gives_others(self):
        first = draw([0]).masked_FL
        for other in (draw([0], step=4), draw([0], inner_iteration=1), draw([1])):
            self.assertFalse(torch.equal(first, other.masked_FL))


if __name__ == "__main__":
    unittest.main()
