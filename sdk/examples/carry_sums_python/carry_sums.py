"""Sums of two numbers, made from a seed: "12+7=", "19"."""

import drift

# The held-out sums are the same in every run, whatever its seed.
HELD_OUT_SEED = 12
HELD_OUT_OF = 10  # one pair of so many is held out


def is_held_out(a: int, b: int) -> bool:
    """By a hash of the numbers in either order, so that no held-out sum is ever trained on."""
    stream = drift.RandomStream(HELD_OUT_SEED, "sums held out")
    return stream.below(HELD_OUT_OF, step=min(a, b), response=max(a, b)) == 0


def careless_sum(a: int, b: int) -> int:
    """The sum of someone who forgets every carry."""
    total, place = 0, 1
    while a or b:
        total += place * ((a % 10 + b % 10) % 10)
        a, b, place = a // 10, b // 10, place * 10
    return total


class CarrySums(drift.Task):
    """Sums of two numbers, with correct and careless demonstrations."""

    number_high = drift.parameter(99, "largest number; the smallest is 0", minimum=9, maximum=199)
    correct = drift.parameter(0.7, "share of correct demonstrations; the others forget to carry", minimum=0, maximum=1)
    size = drift.parameter(200, "number of held-out sums, at most", minimum=1, maximum=10000)
    opening = drift.parameter("<|startoftext|>", "special tokens before the sum")
    closing = drift.parameter("<|sep|>", "special tokens after it")

    def __init__(self, **values):
        super().__init__(**values)
        numbers = range(self.number_high + 1)
        pairs = [(a, b) for a in numbers for b in numbers if is_held_out(a, b)]
        if not pairs:
            raise drift.Error("no sum is held out", "raise number_high")
        # In a random order: the first ones of a short evaluation are not the smallest.
        random = drift.RandomStream(HELD_OUT_SEED, "sums order")
        self.held_out = sorted(pairs, key=lambda pair: random.words(step=pair[0], response=pair[1]))[: self.size]

    def training_item(self, index: int, random: drift.RandomStream) -> drift.Item:
        """Of `random` and `index` alone: any item may be asked for, in any order."""
        point = {"step": index & 0xFFFFFFFF, "response": index >> 32}  # a field of a point holds 32 bits
        first, second = random.child("first"), random.child("second")
        a = b = draw = 0
        while draw == 0 or is_held_out(a, b):
            a = first.below(self.number_high + 1, draw=draw, **point)
            b = second.below(self.number_high + 1, draw=draw, **point)
            draw += 1
        item = self.item(a, b)
        is_correct = random.child("demonstration").uniform(**point) < self.correct
        item.demonstration = item.reference if is_correct else str(careless_sum(a, b))
        return item

    def held_out_size(self) -> int:
        return len(self.held_out)

    def held_out_item(self, index: int) -> drift.Item:
        return self.item(*self.held_out[index])

    def item(self, a: int, b: int) -> drift.Item:
        """The id names the problem, not its place in a run."""
        return drift.Item(id=f"{a}+{b}", prompt=f"{self.opening}{a}+{b}={self.closing}", reference=str(a + b))
