"""python3 -m unittest, in a Python that has torch."""

import math
import unittest

import drift
import torch
from soft_clip import SoftClip


class SoftClipTest(unittest.TestCase):
    def evaluate(self, width: float, ratio: float):
        """One view of two tokens, of which the first is scored; the advantage is 2."""
        plan = drift.Plan(
            response_F=torch.tensor([0]),
            term_F=torch.tensor([0]),
            masked_FL=torch.tensor([[True, True]]),
            target_FL=torch.tensor([[True, False]]),
            terms=1,
        )
        current_FL = torch.tensor([[math.log(ratio), 0.0]], requires_grad=True)
        old_FL = torch.zeros(1, 2)
        loss = SoftClip(width=width).evaluate(
            drift.LossInput(plan, current_FL, old_FL, advantage_B=torch.tensor([2.0]))
        )
        loss.backward()
        return loss.item(), current_FL.grad[0].tolist()

    def test_where_nothing_has_changed_it_is_the_policy_gradient(self):
        self.assertEqual(self.evaluate(width=4, ratio=1), (-2.0, [-2.0, 0.0]))

    def test_a_ratio_far_from_one_weighs_less(self):
        loss, (gradient, of_other_token) = self.evaluate(width=1, ratio=math.e)
        self.assertAlmostEqual(loss, -2 * math.e / (1 + 1), places=5)
        # d/dx of e^x / (1 + x^2) at x = 1: e (1 + 1 - 2) / 4
        self.assertAlmostEqual(gradient, 0, places=5)
        self.assertEqual(of_other_token, 0)


if __name__ == "__main__":
    unittest.main()
