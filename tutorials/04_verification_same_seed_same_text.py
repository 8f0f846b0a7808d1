# %% [markdown]
# # 4. Verification, and: same seed, same text
#
# The drafter guesses; the target decides. The rule that decides must not change the *law* of the text: not by a
# percent and not by a millionth. Most faults in public samplers sit in this rule, and most go unnoticed, because a
# wrong law still gives good-looking text.
#
# So we do not look at samples. We compute the law of a program exactly, in fractions, by running it once for every
# outcome of its dice. Then we plant three faults and read off how wrong each is. At the end, the real network.

# %%
import itertools
import json
import math
import sys
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # find the package from any directory

import numpy as np

import eagle_min
from eagle_min.config import SamplingConfig, TreeConfig
from eagle_min.dice import SeededDice, coin, draft_draw, residual_draw, target_draw
from eagle_min.exactness.law import law, total_variation
from eagle_min.grow import confidence
from eagle_min.head import EagleDrafter
from eagle_min.sampling import next_token_law
from eagle_min.train.head import new_head
from eagle_min.tree import DraftTree, children, draw
from eagle_min.verify import Verification, match_walk, recursive_rejection, rejection_walk

# %% [markdown]
# ## A world that fits on a page
#
# Three tokens, a, b, c. The target's law of the next token depends on the last one: p(. | a) = 5/10, 3/10, 2/10, and so
# on. The draft has laws q of its own, and they are wrong. Its tree is fixed: after the root "a" it proposes a, then c;
# after that a it proposes b.

# %%
A, B, C = 0, 1, 2
names = "abc"


def tenths(*weights: int) -> np.ndarray:
    """A law (V,) in fractions."""
    return np.array([Fraction(weight, 10) for weight in weights], dtype=object)


p = {A: tenths(5, 3, 2), B: tenths(1, 6, 3), C: tenths(4, 2, 4)}
q = {A: tenths(6, 1, 3), B: tenths(2, 5, 3), C: tenths(3, 3, 4)}
tree = DraftTree(tokens=(A, A, C, B), parents=(-1, 0, 0, 1), log_confidence=(0.0, -0.5, -1.2, -2.8))
tree.check_invariants()
print(draw(tree, lambda node: names[tree.tokens[node]]))
LENGTH = 3  # we compare the joint law of three tokens: a fault may hide in the first one


def law_at(node: int) -> np.ndarray:
    """The target's law of the token after a node."""
    return p[tree.tokens[node]]


# %% [markdown]
# What we want is plain decoding's law: the product of the conditionals, written down without any of the code under
# test. And a speculative text is: a cycle, then the target's own draws until there are three tokens.

# %%
wanted: dict[tuple, Fraction] = {}
for text in itertools.product((A, B, C), repeat=LENGTH):
    wanted[text] = math.prod(p[before][after] for before, after in zip((A, *text), text))


def text_by(rule):
    """A program for `law`: the first LENGTH tokens, when `rule(tree, law_at, dice)` verifies the first cycle."""

    def program(dice) -> tuple:
        path, bonus = rule(tree, law_at, dice)
        text = [*(tree.tokens[node] for node in path[1:]), bonus]
        while len(text) < LENGTH:
            text.append(dice.categorical(p[text[-1]], target_draw(1 + len(text))))
        return tuple(text[:LENGTH])

    return program


def report(name: str, found: dict[tuple, Fraction]) -> None:
    """One line: the law of the first token, and the distance of the joint law to the wanted one."""
    first = [sum(share for text, share in found.items() if text[0] == token) for token in (A, B, C)]
    laws = "  ".join(f"{str(share):>9s}" for share in first)
    distance = total_variation(found, wanted)
    print(f"{name:34s} {laws}    {str(distance):>11s} = {float(distance):.4f}")


# %% [markdown]
# ## The match walk
#
# At a node, **draw the target's own token**, as plain decoding would. If a child carries it, descend: that token came
# free. If not, it is the bonus token, and the cycle ends. Every token of the text is the target's own draw at its
# place; the tree only decides how many of them one call yields. There is nothing more to prove.
#
# ## The rejection loop
#
# EAGLE-2's code does it in pieces. Try the children in turn: accept child x with probability p(x), else set p(x) to
# zero and renormalise. When all are rejected, the bonus is drawn from what is left. x1 is taken with p(x1), x2 with
# (1 - p(x1)) * p(x2) / (1 - p(x1)) = p(x2), and so on: the same law.

# %%
rules = {
    "match walk": lambda tree, law_at, dice: match_walk(tree, law_at, dice, position=1),
    "rejection loop": lambda tree, law_at, dice: rejection_walk(tree, law_at, dice, position=1, cycle=0),
}
print("\nexact laws                           first token: a, b, c              total variation of three tokens")
report("wanted", wanted)
text_laws = {name: law(text_by(rule)) for name, rule in rules.items()}
for name, found in text_laws.items():
    report(name, found)


def path_law(rule) -> dict:
    """The law of (path, bonus) itself."""
    return law(lambda dice: (tuple((verdict := rule(tree, law_at, dice)).path), verdict.bonus))


print("\npath of nodes   bonus   probability by both rules")
for (path, bonus), share in sorted(path_law(rules["match walk"]).items()):
    print(f"{'-'.join(map(str, path)):13s}   {names[bonus]:5s}   {share}")

# %% [markdown]
# ## Three faults
#
# 1. **Not zeroed.** A rejected child keeps its probability, so it gets a second chance as the bonus.
# 2. **p / q.** Accept with min(1, p(x) / q(x)) and leave (p - q)+ on rejection. This is the right rule for a child that
#    was *drawn* from q. Our children are the draft's favourites: they come every time. Articles print this rule for
#    all of EAGLE, and in EAGLE's own tracker people ask again and again why its code does not divide by q.
# 3. **Typical acceptance**, Medusa's own rule (Cai et al. 2401.10774): accept whenever p(x) exceeds
#    min(epsilon, delta * exp(-entropy of p)), here 0.09 and 0.3. No dice at all. Articles list Medusa beside the
#    lossless methods; with its own rule it is not one, and its paper does not say so.
#
# Each is the rejection loop with a line or two changed.


# %%
def faulty_walk(fault: str):
    """The rejection loop with a fault in it; `fault` as in the list above."""

    def walk(tree: DraftTree, law_at, dice) -> Verification:
        path = [0]
        while True:
            left, draft = law_at(path[-1]).copy(), q[tree.tokens[path[-1]]].copy()
            for child in children(tree.parents)[path[-1]]:
                token = tree.tokens[child]
                if accepts(fault, left, draft, token, dice, child):
                    path.append(child)
                    break
                if fault == "p / q":
                    left, draft[token] = np.maximum(left - draft, 0), 0
                    left, draft = left / left.sum(), draft / draft.sum()
                elif fault != "not zeroed":
                    left[token] = Fraction(0)
            else:
                return Verification(path, dice.categorical(left, residual_draw(0, path[-1])))

    return walk


def accepts(fault: str, left: np.ndarray, draft: np.ndarray, token: int, dice, child: int) -> bool:
    """Whether a child is accepted."""
    if fault == "typical acceptance":
        entropy = -sum(float(x) * math.log(x) for x in left / left.sum() if x > 0)
        return left[token] / left.sum() > min(0.09, 0.3 * math.exp(-entropy))
    chance = left[token] / left.sum()
    return dice.accept(min(Fraction(1), chance / draft[token]) if fault == "p / q" else chance, coin(0, child))


print("\nexact laws                           first token: a, b, c              total variation of three tokens")
report("wanted", wanted)
distances = {}
for fault in ("none", "not zeroed", "p / q", "typical acceptance"):
    found = law(text_by(faulty_walk(fault)))
    distances[fault] = total_variation(found, wanted)
    report(f"fault: {fault}", found)

# %% [markdown]
# Read the table. A fault's law is a list of fractions, so the verdict needs no threshold and no luck: total variation
# is zero or it is not. A histogram of 1,000 samples is itself off by a few percent, and passes a small fault.
#
# ## Where p / q belongs
#
# EAGLE-1 above temperature 0 *draws* its children from the draft's law, and so do most schemes with a separate
# draft model. Then the child itself is random, and min(1, p/q) with the residual (p - q)+ is exact. Same laws as above:


# %%
def sampled_child(dice) -> int:
    """The first token, when one child is drawn from q and verified by recursive rejection."""
    child = dice.categorical(q[A], draft_draw(0, 0, 0))
    sampled = DraftTree((A, child), (-1, 0), (0.0, -1.0), child_laws={0: q[A]})
    path, bonus = recursive_rejection(sampled, lambda node: p[sampled.tokens[node]], dice, position=1, cycle=0)
    return sampled.tokens[path[1]] if len(path) > 1 else bonus


found_sampled = law(sampled_child)
print("\nsampled child, p / q:", {names[token]: str(share) for token, share in sorted(found_sampled.items())})

# %% [markdown]
# ## Temperature 0 is the same code
#
# Greedy decoding is the law with all mass on the best token. Nothing is special about it: put one-hot laws into the
# same walk, and the law of the text has one outcome.

# %%
greedy = {token: next_token_law(weights, SamplingConfig(temperature=0.0)) for token, weights in p.items()}


def greedy_first_cycle(rule):
    """Path and bonus of one cycle at temperature 0."""
    return law(lambda dice: repr(rule(tree, lambda node: greedy[tree.tokens[node]], dice)))


for name, rule in rules.items():
    print(f"temperature 0, {name}: {greedy_first_cycle(rule)}")

# %% [markdown]
# ## Same seed, same text
#
# Two programs with one law need not write one text: from the same seed the rejection loop uses its dice otherwise
# than plain decoding does. The match walk uses the *very draw* of plain decoding. Every draw here has a name, the
# target's draws are named by position alone, and `SeededDice` makes a draw from seed and name, whatever was asked
# before. So the text is equal token by token: a promise one can test on a single run, without statistics.

# %%
num_seeds, same = 300, {name: 0 for name in rules}
for seed in range(num_seeds):
    plain, dice = [A], SeededDice(seed)
    for position in range(1, LENGTH + 1):
        plain.append(dice.categorical(p[plain[-1]], target_draw(position)))
    for name, rule in rules.items():
        same[name] += text_by(rule)(SeededDice(seed)) == tuple(plain[1:])
print(f"\nof {num_seeds} seeds, the text is plain decoding's: {same}")

# %% [markdown]
# Now the shipped network, at temperature 1, in float64. (In float32 the sums of a tree call run in another order, and
# a draw that falls on the very edge between two tokens may tip.) Three drafters: the EAGLE-2 tree, a greedy chain, and
# a useless one, whose head was never trained. [Brackets] hold accepted runs; what stands outside is a bonus token.

# %%
models = eagle_min.load("tiny")
models.target.double()
target, tokenizer = models.target, models.tokenizer
prompts_file = Path(__file__).resolve().parent.parent / "tinymodels" / "prompts.json"
all_prompts = json.loads(prompts_file.read_text(encoding="utf-8"))
prompts = [tokenizer.prompt(all_prompts[domain][0]) for domain in ("code", "prose")]
useless = EagleDrafter(target, new_head(target, seed=0).double(), confidence, TreeConfig())
drafters = {"none": None, "eagle2": models.drafter("eagle2"), "chain": models.drafter("chain"), "useless": useless}


def marked(generation: eagle_min.Generation) -> str:
    """The text with accepted runs in brackets."""
    pieces = []
    for cycle in generation.cycles:
        run, rest = cycle.tokens[: cycle.num_accepted], cycle.tokens[cycle.num_accepted :]
        pieces += [f"[{tokenizer.decode(run)}]" if run else "", tokenizer.decode(rest)]
    return "".join(pieces)


runs = {
    (name, number): eagle_min.generate(target, prompt, drafter, max_new_tokens=40, temperature=1.0, seed=7)
    for name, drafter in drafters.items()
    for number, prompt in enumerate(prompts)
}
print(f"\n{all_prompts['code'][0]}{marked(runs['eagle2', 0])}\n")
print("drafter     tau   target calls   the text is plain decoding's")
for name in drafters:
    tau = sum(runs[name, n].tau for n in range(len(prompts))) / len(prompts)
    calls = sum(runs[name, n].target_calls for n in range(len(prompts)))
    equal = all(runs[name, n].tokens == runs["none", n].tokens for n in range(len(prompts)))
    print(f"{name:9s} {tau:5.2f} {calls:14d}   {equal}")

# %% [markdown]
# A useless drafter costs time (lesson 1) and changes nothing in the text.
#
# ## What must hold

# %%
assert sum(wanted.values()) == 1
for name, found in text_laws.items():
    assert {text: share for text, share in wanted.items() if share} == found, name  # ==, not nearly
assert path_law(rules["match walk"]) == path_law(rules["rejection loop"])
assert distances["none"] == 0, "without a fault the loop written here is exact too"
assert all(distances[fault] > Fraction(1, 100) for fault in ("not zeroed", "p / q", "typical acceptance"))
assert [found_sampled[token] for token in (A, B, C)] == list(p[A]), "for a sampled child p / q is exact"

# greedy: from a the best is a, then again a: node 1 is accepted, and below it only b is offered
assert all(greedy_first_cycle(rule) == {repr(Verification([0, 1], A)): 1} for rule in rules.values())

assert same["match walk"] == num_seeds > same["rejection loop"]
for (name, number), run in runs.items():
    assert run.tokens == runs["none", number].tokens, f"{name} changed the text"
    assert run.target_calls <= runs["none", number].target_calls
other = eagle_min.generate(target, prompts[0], drafters["eagle2"], max_new_tokens=40, temperature=1.0, seed=8)
assert other.tokens != runs["none", 0].tokens, "another seed, another text"
print("all assertions hold")

# %% [markdown]
# ## Break it
#
# 1. In `faulty_walk("none")`, draw the bonus from the unchanged `law_at(path[-1])` although children were rejected
#    (resample from p). Compute the law; compare it with the fault "not zeroed" and explain what they share.
# 2. In `sampled_child`, draw *two* children without replacement, put the likelier one first, and verify both. The
#    rule is unchanged, each draw is honest, and the law is wrong. By how much? Put them back into the order in which
#    they were drawn and check again. Why does the order carry information?
