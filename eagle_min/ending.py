"""When a text is finished: one rule, for plain and for speculative decoding.

A text ends at the first of three things: a stop token, which is kept as its last token; `max_new_tokens`;
the end of the target's context. A cycle may commit several tokens at once, and the end may come inside
such a run: the rest of the run is dropped, and the text is plain decoding's to the last token.
Read next: `decode.py`.
"""

from collections.abc import Collection, Sequence
from numbers import Integral

from .config import require


class Ending:
    """How much room one text has left, and the `reason` once it has ended: `stop`, `length` or `context`.

    Where a stop token coincides with a limit the reason is `stop`, and `length` goes before `context`.
    """

    def __init__(self, num_prompt: int, max_new_tokens: int, context: int, stop: Collection[int]) -> None:
        """ValueError for a `max_new_tokens` that is no whole number of at least 0."""
        whole = isinstance(max_new_tokens, Integral) and max_new_tokens >= 0
        require(whole, "max_new_tokens", max_new_tokens, "an integer of at least 0")
        self.stop = stop
        self.room, self.limit = min((max_new_tokens, "length"), (context - num_prompt, "context"), key=lambda x: x[0])
        self.reason: str | None = None if self.room else self.limit

    def take(self, tokens: Sequence[int]) -> tuple[int, ...]:
        """The part of `tokens` that belongs to the text; sets `reason` when it is the last."""
        taken = tuple(tokens[: self.room])
        for place, token in enumerate(taken):
            if token in self.stop:
                self.reason = "stop"
                return taken[: place + 1]
        self.room -= len(taken)
        if self.room == 0:
            self.reason = self.limit
        return taken
