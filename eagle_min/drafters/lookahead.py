"""Lookahead decoding (Fu et al. 2402.02057, section 3): while it verifies, the target also guesses several places
ahead, and runs of its own guesses become candidates. There is no other network.

*Jacobi decoding* writes any tokens behind the text and lets the target read them all in one call; its best token
after each is the next guess of the place behind it. One call is seldom enough, so the *window* keeps the guesses
of the last N - 1 cycles as levels of W tokens, each level one place on from the one before. In the picture
(W = 4, N = 4) numbers are places behind the root r, columns are diagonals of the paper's figure, and each token
is read behind the one above it:

    level 0, oldest       r -> 1 -> 2 -> 3    a chain: a column sees it up to its own token
    level 1               1    2    3    4
    level 2, youngest     2    3    4    5
    guesses               3    4    5    6    the target's best tokens after level 2

That is the paper's attention mask, and it is a draft tree: level 0 is a chain from the root on, and a branch
starts at each of its tokens. The N tokens of a column are an n-gram, and the pool keeps it under its first token,
and so it does with N - 1 tokens of the text and the target's best one behind them (the published code has the
prompt's n-grams as an option). What the pool has for the root is more branches; all is one trie, verified like
any other.

After a cycle that committed two tokens the next root r' is at place 2, and this is the window
(level 0 is dropped; every token but one moves it by a column; x: nothing is known yet):

    level 0, was 1        r'-> 3 -> 4 -> x
    level 1, was 2        3    4    5    x
    level 2, the guesses  4    5    6    x

Where nothing is known, as at first, or behind a node the tree had no room for, the text is thought to repeat
its last tokens. Guesses are best tokens at any temperature: a tree depends on what the target has read
and on none of the draws to come. Read next: `../exactness/law.py`.
"""

from collections.abc import Sequence

from ..config import SamplingConfig, TreeConfig, is_count, require
from ..decode import Reading
from ..dice import Dice
from ..tree import DraftTree
from .lookup import Trie

WINDOW, NGRAM, GUESSES = 3, 5, 8  # W, N, G: the best of eight on training text (`lab choose`)


class LookaheadDrafter:
    """Proposes the window, and what the pool has for the root."""

    layers: Sequence[int] = ()

    def __init__(self, tree: TreeConfig, window: int = WINDOW, ngram: int = NGRAM, guesses: int = GUESSES) -> None:
        """Of `tree` only num_nodes and depth matter: a window of W columns for n-grams of N tokens takes up to
        W (N - 1) nodes, root included, and W + N - 3 levels; what does not fit is left out. The pool keeps at most
        `guesses` n-grams for a first token. ValueError for a window or guesses below 1, an n-gram below 2."""
        for name, value, least in (("window", window, 1), ("ngram", ngram, 2), ("guesses", guesses, 1)):
            require(is_count(value) and value >= least, name, value, f"an integer of at least {least}")
        self.tree, self.num_nodes = tree, tree.num_nodes
        self.window, self.ngram, self.guesses = window, ngram, guesses

    def start(self, prompt_ids: Sequence[int]) -> "LookaheadSession":
        """Draft for a new sequence. Its tokens come as they are read, all but the first."""
        return LookaheadSession(self, prompt_ids[0])


class LookaheadSession:
    """One sequence: its text, the window and the pool."""

    def __init__(self, drafter: LookaheadDrafter, first: int) -> None:
        self.drafter, self.text = drafter, [first]
        # [level][column]: the token `level + column` places behind the root
        self.levels: list[list[int | None]] = [[None] * drafter.window] * (drafter.ngram - 1)
        self.ends: list[int | None] = [None] * drafter.window  # column -> node of its youngest token in the last tree
        self.pool: dict[int, list[tuple[int, ...]]] = {}  # first token -> the N - 1 after it, the latest first

    def learn(self, reading: Reading) -> None:
        """Take best tokens out of the rows (rows read, V), remember n-grams, and move the window to the new root."""
        size, first_end = self.drafter.ngram, len(self.text)
        best = reading.rows.argmax(axis=1).tolist()
        guesses = [None if end is None else best[end] for end in self.ends]
        for column in reversed(range(self.drafter.window)):  # the latest is the one nearest to the text
            if guesses[column] is not None:
                self._remember(tuple(level[column] for level in [*self.levels, guesses]))
        self.text += reading.following
        for end, node in enumerate(reading.path, first_end):  # `node` was read at the end of text[:end]
            if end >= size - 1:
                self._remember((*self.text[end - size + 1 : end], best[node]))
        moved = len(reading.following) - 1
        self.levels = [self._moved(level, i, moved) for i, level in enumerate([*self.levels[1:], guesses])]
        self.levels[0][0] = self.text[-1]  # the root itself, no guess

    def _remember(self, ngram: tuple[int, ...]) -> None:
        """Put an n-gram first among those with its first token; the oldest goes when they are too many."""
        others = [rest for rest in self.pool.get(ngram[0], []) if rest != ngram[1:]]
        self.pool[ngram[0]] = [ngram[1:], *others][: self.drafter.guesses]

    def _moved(self, known: Sequence[int | None], level: int, moved: int) -> list[int]:
        """A level some columns further to the left. Where nothing is known, the text repeats as many of its last
        tokens as the window has places."""
        window, num_places = self.drafter.window, self.drafter.window + self.drafter.ngram - 2
        tokens = [*known[moved:], *[None] * window][:window]
        again = [self.text[(level + column - num_places) % len(self.text)] for column in range(window)]
        return [other if token is None else token for token, other in zip(tokens, again)]

    def propose(self, root: int, depth: int, dice: Dice, cycle: int, sampling: SamplingConfig) -> DraftTree:
        """Column by column the window, then the pool's n-grams, the latest first, as far as there is room."""
        drafter, (oldest, *later) = self.drafter, self.levels
        trie = Trie(root, drafter.num_nodes, min(depth, drafter.tree.depth))
        for column in range(drafter.window):
            path = [*oldest[1 : column + 1], *(level[column] for level in later)]
            nodes = trie.add(path)  # the root first
            self.ends[column] = nodes[-1] if len(nodes) == len(path) + 1 else None
        for ngram in self.pool.get(root, []):
            trie.add(ngram)
        return trie.tree()
