# %% [markdown]
# # 1. What a target call costs
#
# A language model writes one token per call. Speculative decoding (Leviathan et al. 2211.17192, Chen et al.
# 2302.01318) writes the same text with fewer calls. That pays only if a call on many tokens costs little more
# than a call on one. This lesson measures whether it does, here, on your machine.
#
# Words: the *target* is the model whose text we want. A *target call* is one forward pass of it. A *cycle* is:
# propose some tokens, check them in one target call, keep those that were right. tau is the number of tokens a
# cycle commits, on average.
#
# Every table of milliseconds below is a measurement and differs from machine to machine. The assertions at the end
# do not look at clocks: they check logits and counts, which are the same everywhere.

# %%
import json
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # find the package from any directory

import numpy as np
import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode

import eagle_min
from eagle_min.config import SamplingConfig, TreeConfig
from eagle_min.dice import SeededDice, coin
from eagle_min.exactness.law import law
from eagle_min.grow import confidence
from eagle_min.head import EagleDrafter
from eagle_min.train.head import new_head

models = eagle_min.load("tiny")
target, tokenizer = models.target, models.tokenizer
prompts_file = Path(__file__).resolve().parent.parent / "tinymodels" / "prompts.json"
prompts = [tokenizer.prompt(text) for text in json.loads(prompts_file.read_text(encoding="utf-8"))["code"]]
text = [token for prompt in prompts for token in prompt][:260]  # any tokens do for timing
num_cached, sizes = 200, [1, 4, 8, 16, 24, 32, 48]
print(f"target: {target.config.num_layers} layers, {target.config.width} wide; {torch.get_num_threads()} threads")

# %% [markdown]
# ## One call, many positions
#
# The cache holds the keys and values of 200 tokens. We read the next n tokens in one call and look at the clock;
# then `keep` forgets them, and the next measurement starts from the same place. Each size is warmed up first, sizes
# take turns (so that a busy moment of the machine hits all of them), and we report the median.
#
# A call returns logits for *every* token it reads. Row i is the law of the token after token i. That is the whole
# trick: if we can guess the next tokens, one call checks all the guesses.


# %%
def milliseconds(calls: dict[int, Callable[[], object]], num_rounds: int = 15) -> dict[int, float]:
    """The median time of each call; the first three rounds are warm-up."""
    seen: dict[int, list[float]] = {name: [] for name in calls}
    for _ in range(num_rounds + 3):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            seen[name].append(1000 * (time.perf_counter() - start))
    return {name: median(times[3:]) for name, times in seen.items()}


session = target.start(num_spare=max(sizes))
session.read(text[:num_cached], list(range(num_cached)))


def read_and_forget(n: int) -> np.ndarray:
    """One target call on the n tokens after the cached ones: their logits (n, V)."""
    _, logits = session.read(text[num_cached : num_cached + n], list(range(num_cached, num_cached + n)))
    session.keep(num_cached, [])
    return logits


call_ms = milliseconds({n: lambda n=n: read_and_forget(n) for n in sizes})
print("\n  n   ms a call   against n=1   ms a token")
for n in sizes:
    bar = "#" * round(8 * call_ms[n] / call_ms[1])
    print(f"{n:3d}   {call_ms[n]:9.2f}   {call_ms[n] / call_ms[1]:11.2f}   {call_ms[n] / n:10.3f}   {bar}")

# %% [markdown]
# ## Why it is cheap: two different reasons
#
# **On a large GPU** a step on one token multiplies one vector with every weight matrix. All weights travel from
# memory for two operations each, so the arithmetic units wait. A second token uses the weights that have arrived
# anyway. Popular articles stop here, and then claim the same reason for every machine.
#
# **On a CPU with a narrow model** it is mostly something else: a call starts hundreds of small operators, and to
# start one costs microseconds whatever its size. Below we count the operators of a call, and time the *bare* matrix
# products of the same shapes. The difference is what surrounds the arithmetic.

# %%
matrices = [p for name, p in target.named_parameters() if p.ndim == 2 and not name.startswith("embed")]
inputs = {n: {width: torch.randn(n, width) for width in {m.shape[1] for m in matrices}} for n in sizes}


@torch.inference_mode()
def bare_products(n: int) -> None:
    """Every weight matrix of a target call times n vectors, and nothing else."""
    for matrix in matrices:
        F.linear(inputs[n][matrix.shape[1]], matrix)


class Counter(TorchFunctionMode):
    """Counts the operations asked of torch while it is entered."""

    count = 0

    def __torch_function__(self, operation, types, args=(), kwargs=None):
        self.count += operation.__name__ != "__get__"  # reading an attribute such as x.shape costs nothing here
        return operation(*args, **(kwargs or {}))


def num_operators(n: int) -> int:
    """How many operations a call on n tokens starts."""
    with Counter() as counter:
        read_and_forget(n)
    return counter.count


bare_ms = milliseconds({n: lambda n=n: bare_products(n) for n in sizes})
operators = {n: num_operators(n) for n in sizes}
num_weights = sum(matrix.numel() for matrix in matrices)
print(f"\n{num_weights / 1e6:.1f} million weights in {len(matrices)} matrices: so many multiply-adds a token")
print("\n  n   operators   ms a call   ms bare products   share of the call")
for n in sizes:
    print(f"{n:3d}   {operators[n]:9d}   {call_ms[n]:9.2f}   {bare_ms[n]:16.2f}   {bare_ms[n] / call_ms[n]:17.0%}")
print("The count of operators hardly moves with n; the arithmetic grows with n. Where the share is small, we")
print("save mostly the cost of starting operators. Where it is large, n more tokens are no longer free.")

# %% [markdown]
# ## The cost model
#
# Let c(n) be the cost of a call on n tokens, in plain steps, and h the cost of all the drafting of a cycle. A cycle
# commits tau tokens; plain decoding would pay tau steps for them. So
#
#     ratio = tau / (c(n) + h)
#
# and speculative decoding wins only where tau exceeds c(n) + h, the *break-even*. We time the drafting of one
# EAGLE-2 cycle with the shipped head: it reads the tokens just committed, then grows a tree of n = 24 nodes.

# %%
drafter = models.drafter("eagle2")
features, _ = target.start().read(text[:num_cached], list(range(num_cached)))
draft = drafter.start(text[:num_cached])
draft.read(features, text[1 : num_cached + 1])


def draft_once() -> None:
    """The drafter's share of a cycle: four committed rows are read again, then a tree is grown."""
    draft.cache.truncate(num_cached - 4)
    draft.read(features[-4:], text[num_cached - 3 : num_cached + 1])
    draft.propose(text[num_cached], drafter.tree.depth, SeededDice(0), 0, SamplingConfig())


call_cost = call_ms[24] / call_ms[1]
draft_cost = milliseconds({0: draft_once})[0] / call_ms[1]
break_even = call_cost + draft_cost
print(f"\ncall on 24 nodes {call_cost:.2f} + drafting {draft_cost:.2f} = break-even at tau {break_even:.2f}")
print("\ntau    1    2    3    4    5    6")
print("ratio" + "".join(f"{tau / break_even:5.2f}" for tau in range(1, 7)))

# %% [markdown]
# ## Where tau comes from
#
# Say a draft is a chain of k tokens, each right with probability a, given that all before it were right. The cycle
# commits the right ones and one *bonus token*, which the target adds itself: the call has computed its law anyway.
# So tau = 1 + a + a^2 + ... + a^k (2211.17192, equation 1). Even a perfect chain commits no more than k + 1.
#
# We do not have to believe the formula: `law` runs a program once for every outcome of its dice, in fractions.


# %%
def committed(dice, a: Fraction, k: int) -> int:
    """Tokens that one cycle commits: the accepted ones, and the bonus."""
    accepted = 0
    while accepted < k and dice.accept(a, coin(0, accepted + 1)):
        accepted += 1
    return accepted + 1


def tau_of_chain(a: Fraction, k: int) -> Fraction:
    """The exact mean of `committed`."""
    return sum(n * p for n, p in law(lambda dice: committed(dice, a, k)).items())


print("\ntau of a chain   " + "".join(f"  k = {k:2d}" for k in (1, 3, 5, 7)))
for tenths in (3, 5, 7, 8, 9, 10):
    row = [float(tau_of_chain(Fraction(tenths, 10), k)) for k in (1, 3, 5, 7)]
    print(f"   a = {tenths / 10:3.1f}       " + "".join(f"{tau:8.2f}" for tau in row))

# %% [markdown]
# ## The model against the clock, and the price of a useless drafter
#
# Some articles say that a bad drafter does no harm. It does none to the *text* (lesson 4). It does to the *time*:
# tau falls to about 1, and each cycle still costs the break-even. An untrained head shows it.


# %%
def decode(run_drafter) -> tuple[list[int], int, float, float]:
    """All tokens, the target calls, the mean tau and the seconds of three greedy runs."""
    start = time.perf_counter()
    runs = [eagle_min.generate(target, prompt, run_drafter, max_new_tokens=48) for prompt in prompts[:3]]
    seconds = time.perf_counter() - start
    tokens, calls = [token for run in runs for token in run.tokens], sum(run.target_calls for run in runs)
    return tokens, calls, (len(tokens) - len(runs)) / (calls - len(runs)), seconds  # less prefill and first token


untrained = EagleDrafter(target, new_head(target, seed=0), confidence, TreeConfig())
decode(None)  # warm-up
runs = {name: decode(d) for name, d in {"none": None, "eagle2": drafter, "untrained": untrained}.items()}
print("\ndrafter     tokens   target calls    tau   seconds   ratio   the model says")
for name, (tokens, calls, tau, seconds) in runs.items():
    said = tau / break_even if name != "none" else 1.0
    ratio = runs["none"][3] / seconds
    print(f"{name:10s} {len(tokens):7d} {calls:14d} {tau:6.2f} {seconds:9.2f} {ratio:7.2f} {said:16.2f}")

# %% [markdown]
# ## What must hold
#
# One call on n tokens gives the logits of n calls on one token. In float64 we ask for agreement to 1e-9; in float32
# the sums run in another order, and the last digits differ, which is why only float64 is compared here.

# %%
exact = eagle_min.load("tiny").target.double()
together = exact.start()
_, rows = together.read(text[:48], list(range(48)))
one_by_one = exact.start()
singles = np.stack([one_by_one.read([token], [place])[1][0] for place, token in enumerate(text[:48])])
print(f"\nlargest difference, one call on 48 tokens against 48 calls: {np.abs(rows - singles).max():.1e}")
assert np.abs(rows - singles).max() < 1e-9
assert together.length == one_by_one.length == 48

assert len({operators[n] for n in sizes[1:]}) == 1, "a call on 48 tokens starts as many operators as one on 4"
assert read_and_forget(8).shape == (8, target.vocab_size) and session.length == num_cached

for k in range(6):  # the law of the chain agrees with the formula, as fractions
    assert tau_of_chain(Fraction(4, 5), k) == sum(Fraction(4, 5) ** i for i in range(k + 1))

for tokens, _, tau, _ in runs.values():  # counting: a call is a prefill or a cycle, and a cycle commits 1 to 8
    assert len(tokens) == 3 * 48 and 1 <= tau <= TreeConfig().depth + 1
assert runs["none"][1] == 3 * 48, "plain decoding pays one call a token"
assert runs["eagle2"][1] <= runs["none"][1] and runs["untrained"][1] <= runs["none"][1]
print("all assertions hold")

# %% [markdown]
# ## Break it
#
# 1. In `read_and_forget`, leave out `session.keep(num_cached, [])`. Predict first what happens to the table, to
#    `session.length`, and after how many calls an error stops you; which sentence does the cache say?
# 2. In the assertion cell, give all 48 tokens of the one big call the position 0 instead of `range(48)`. The shapes
#    stay right and no error is raised. Which rows are still correct, and why can no clock tell you?
