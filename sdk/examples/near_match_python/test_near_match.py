"""python3 -m unittest"""

import unittest

import drift
from near_match import NearMatch


def judge(response: str, reference: str, truncated: bool = False, **parameters) -> drift.Verdict:
    item = drift.Item(id="one", prompt="", reference=reference)
    return NearMatch(**parameters).score(drift.Request(response, item, truncated))


class NearMatchTest(unittest.TestCase):
    def test_gives_credit_by_edit_distance(self):
        for response, value, reason in (
            ("kitten", 1, "equals the reference"),
            (" kit\nten ", 1, "equals the reference"),
            ("sitting", 1 / 7, "3 of 7 bytes differ"),
            ("kitte", 2 / 3, "1 of 6 bytes differ"),
            ("abcdfg", 0, "6 of 6 bytes differ"),
            ("ki", 0, "the length is far from the reference's"),
            (" ", 0, "the response is empty"),
        ):
            with self.subTest(response):
                verdict = judge(response, "kitten")
                self.assertAlmostEqual(verdict.value, value)
                self.assertEqual(verdict.solved, value == 1)
                self.assertEqual(verdict.reason, reason)

    def test_answers_for_its_settings(self):
        self.assertFalse(judge("k i", "ki", ignore_spaces=False).solved)
        strict = judge("kitten", "kitten", truncated=True, truncated_earns=False)
        self.assertEqual(strict.reason, "the response has no end")
        with self.assertRaisesRegex(drift.Error, "item `one` has no reference"):
            judge("kitten", " ")


if __name__ == "__main__":
    unittest.main()
