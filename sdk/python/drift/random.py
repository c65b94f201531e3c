"""Random numbers that are a function of the place in a run at which they are used."""

from __future__ import annotations

from typing import Any

_LOW = 0xFFFFFFFF
_WHOLE = 0xFFFFFFFFFFFFFFFF


def _mix(key: int, name: str) -> int:
    """The finaliser of SplitMix64 over FNV-1a."""
    value = 0xCBF29CE484222325 ^ key
    for byte in name.encode():
        value = (value ^ byte) * 0x100000001B3 & _WHOLE
    value = (value + 0x9E3779B97F4A7C15) & _WHOLE
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & _WHOLE
    value = (value ^ value >> 27) * 0x94D049BB133111EB & _WHOLE
    return value ^ value >> 31


def _product(factor: int, word: Any) -> tuple[Any, Any]:
    """High and low word of the product of two words. A tensor of int64 overflows, which leaves the bits as they are."""
    product = word * factor
    return product >> 32 & _LOW, product & _LOW


def _philox(key: int, counter: tuple[Any, Any, Any, Any]) -> tuple[Any, Any]:
    """The first two words of Philox 4x32-10, for integers and for tensors of int64."""
    low, high = key & _LOW, key >> 32
    a, b, c, d = counter
    for _ in range(10):
        high_a, low_a = _product(0xD2511F53, a)
        high_c, low_c = _product(0xCD9E8D57, c)
        a, b, c, d = high_c ^ b ^ low, low_c, high_a ^ d ^ high, low_a
        low, high = low + 0x9E3779B9 & _LOW, high + 0xBB67AE85 & _LOW
    return a, b


class RandomStream:
    """A named stream of random numbers, the same as `drift::RandomStream` in C++ gives.

    A number is a function of the seed, the stream's name and the point at which it is drawn, never of the batch or of
    the order of calls. Each field of a point is an integer in [0, 2^32) or a tensor of such; tensors are broadcast, and
    the result then is a tensor of that shape.

        random = input.random.child("mask")
        response_B1 = input.response_number_B[:, None]
        uniform_BL = random.uniform(step=input.step, response=response_B1, position=torch.arange(L))
    """

    def __init__(self, seed: int, name: str):
        self.key = _mix(seed & _WHOLE, name)

    @classmethod
    def of_key(cls, key: int) -> "RandomStream":
        """The stream that has this key in C++."""
        stream = cls.__new__(cls)
        stream.key = key
        return stream

    def child(self, name: str) -> "RandomStream":
        """An independent stream below this one: one for each kind of draw."""
        return self.of_key(_mix(self.key, name))

    def words(self, step: Any = 0, response: Any = 0, position: Any = 0, draw: Any = 0) -> tuple[Any, Any]:
        """64 random bits, as two words of 32: the high one and the low one."""
        for word in (step, response, position, draw):
            if isinstance(word, int) and not 0 <= word <= _LOW:
                raise ValueError(f"a random point holds {word}: every field must be in [0, 2^32)")
        return _philox(self.key, (step, response, position, draw))

    def uniform(self, step: Any = 0, response: Any = 0, position: Any = 0, draw: Any = 0) -> Any:
        """Uniform in [0, 1), 53 bits: a float, or a tensor of float64."""
        high, low = self.words(step, response, position, draw)
        bits = high << 21 | low >> 11
        return (bits.double() if hasattr(bits, "double") else float(bits)) * 2.0**-53

    def below(self, bound: int, step: Any = 0, response: Any = 0, position: Any = 0, draw: Any = 0) -> Any:
        """Uniform in {0, …, bound - 1}: an int, or a tensor of int64. 1 <= bound < 2^31."""
        if not 1 <= bound < 2**31:
            raise ValueError(f"RandomStream.below({bound}): the bound must be in [1, 2^31)")
        high, low = self.words(step, response, position, draw)
        return high * bound + (low * bound >> 32) >> 32
