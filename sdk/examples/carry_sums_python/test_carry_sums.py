"""python3 -m unittest"""

import unittest

import drift
from carry_sums import CarrySums, careless_sum


class CarrySumsTest(unittest.TestCase):
    random = drift.RandomStream(7, "task")

    def test_forgets_to_carry(self):
        self.assertEqual(careless_sum(9, 96), 95)

    def test_an_item_depends_on_its_number_alone(self):
        task = CarrySums()
        first, other = task.training_item(1 << 40, self.random), task.training_item(3, self.random)
        self.assertNotEqual(first.id, other.id)
        self.assertEqual(first, CarrySums().training_item(1 << 40, self.random))
        self.assertEqual(first.prompt, f"<|startoftext|>{first.id}=<|sep|>")

    def test_no_held_out_sum_is_trained_on(self):
        task = CarrySums(number_high=9)
        held_out = {task.held_out_item(index).id for index in range(task.held_out_size())}
        self.assertEqual(len(held_out), task.held_out_size())
        for index in range(500):
            a, b = task.training_item(index, self.random).id.split("+")
            self.assertFalse({f"{a}+{b}", f"{b}+{a}"} & held_out)


if __name__ == "__main__":
    unittest.main()
