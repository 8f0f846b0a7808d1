"""Keys and values of the tokens already read: append, keep these rows, truncate.

Row t belongs to position t as long as only whole sequences are in it. A draft tree is
appended as rows too; afterwards `keep` moves the accepted path to the front of them and
forgets the rest, which is right because a node's rotary position is its depth, and so equals
the place its row ends up in (EAGLE's KV compaction). Read next: `tokenizer.py`.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from .config import ModelConfig, require


class KVCache:
    """Preallocated rows for every layer; `length` of them are in use."""

    def __init__(self, config: ModelConfig, num_layers: int, capacity: int, like: Tensor) -> None:
        """Room for `capacity` rows in the dtype and on the device of `like`."""
        shape = (2, num_layers, config.num_heads, capacity, config.head_dim)
        self.rows = torch.zeros(shape, dtype=like.dtype, device=like.device)
        self.layers = [tuple(self.rows[:, layer]) for layer in range(num_layers)]  # (keys, values), made once
        self.length = 0

    @property
    def capacity(self) -> int:
        return self.rows.shape[3]

    def write(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Put T new rows (H, T, D/H) behind the rows in use; return all S + T of this layer.

        The new rows count only once `advance` is called, after the last layer wrote its own.
        """
        num_new, end = keys.shape[1], self.length + keys.shape[1]
        require(end <= self.capacity, "rows in the cache", end, f"at most {self.capacity}")
        all_keys, all_values = self.layers[layer]  # (H, capacity, D/H)
        all_keys.narrow(1, self.length, num_new).copy_(keys)
        all_values.narrow(1, self.length, num_new).copy_(values)
        return all_keys.narrow(1, 0, end), all_values.narrow(1, 0, end)

    def advance(self, num_rows: int) -> None:
        """The rows that every layer just wrote are now in use."""
        self.length += num_rows

    def keep(self, start: int, rows: Sequence[int]) -> None:
        """Of the rows from `start` on keep start + rows[0], start + rows[1], ... in that order.

        >>> cache.keep(5, [0, 2])  # rows 5 and 7 stay, as rows 5 and 6; length becomes 7
        """
        require(0 <= start <= self.length, "first row", start, f"between 0 and {self.length}")
        known = all(0 <= row < self.length - start for row in rows) and len(set(rows)) == len(rows)
        require(known, "rows to keep", list(rows), f"distinct and from 0 to {self.length - start - 1}")
        end = start + len(rows)
        if list(rows) != list(range(len(rows))):  # a leading run is in place already
            index = torch.tensor(rows, device=self.rows.device) + start
            self.rows[:, :, :, start:end] = self.rows[:, :, :, index]  # indexing copies first
        self.length = end

    def truncate(self, length: int) -> None:
        """Forget the rows from `length` on."""
        require(0 <= length <= self.length, "length", length, f"between 0 and {self.length}")
        self.length = length

    def check_invariants(self) -> None:
        """AssertionError unless the rows in use fit and are finite."""
        assert 0 <= self.length <= self.capacity
        assert torch.isfinite(self.rows[:, :, :, : self.length]).all()
