"""Partial credit: how near a response comes to the reference, letter by letter."""

import drift


def edit_distance(start: bytes, goal: bytes) -> int:
    """Insertions, deletions and replacements of bytes that turn one text into the other."""
    row = list(range(len(goal) + 1))
    for byte in start:
        diagonal, row[0] = row[0], row[0] + 1
        for j, other in enumerate(goal):
            replaced = diagonal + (byte != other)
            diagonal = row[j + 1]
            row[j + 1] = min(replaced, row[j] + 1, row[j + 1] + 1)
    return row[-1]


class NearMatch(drift.Reward):
    """Partial credit for a response that is similar to the reference."""

    floor = drift.parameter(0.5, "similarity from which a response earns something", minimum=0, below=1)
    ignore_spaces = drift.parameter(True, "white space does not count")
    truncated_earns = drift.parameter(True, "a response without an end may earn something")

    def score(self, request: drift.Request) -> drift.Verdict:
        reference = self.counted(request.item.reference)
        if not reference:
            raise drift.Error(
                f"item `{request.item.id}` has no reference to compare with",
                "give every record an answer, or leave it out",
            )
        response = self.counted(request.response)
        if not response:
            return drift.Verdict(0, False, "no_answer", "the response is empty")
        if request.truncated and not self.truncated_earns:
            return drift.Verdict(0, False, "wrong", "the response has no end")

        # What is much longer or shorter cannot be similar. This also bounds the time for a response of any length.
        longest = max(len(response), len(reference))
        if min(len(response), len(reference)) / longest < self.floor:
            return drift.Verdict(0, False, "wrong", "the length is far from the reference's")

        distance = edit_distance(response, reference)
        if distance == 0:
            return drift.Verdict(1, True, "ok", "equals the reference")
        similarity = 1 - distance / longest
        value = max(0.0, (similarity - self.floor) / (1 - self.floor))
        return drift.Verdict(value, False, "wrong", f"{distance} of {longest} bytes differ")

    def counted(self, text: str) -> bytes:
        """The bytes that are compared."""
        kept = text.encode()
        return kept.translate(None, b" \t\n\v\f\r") if self.ignore_spaces else kept
