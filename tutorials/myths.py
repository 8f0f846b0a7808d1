# %% [markdown]
# # Myths about speculative decoding, and a command that settles each
#
# `myths.md` tells what people say and why. Here is what settles it: one function a myth, which prints the decisive
# figures and then asserts them. `python tutorials/myths.py NAME` runs one; without a name all of them run.
#
# Nothing is sampled and no network is asked. Targets and drafts are tables of two to four tokens, and the law of
# a program is found in fractions, by running it once for every outcome of its dice. "Off by" is the total variation
# to the law that is wanted: the largest error in the probability of any event. 0 means equal, not nearly.
#
# The functions lie in four files, as the page has four parts: `myths_biased.py`, `myths_exact.py`, `myths_proved.py`
# and `myths_eagle2.py`; what they share is in `myths_tables.py`.

# %%
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))  # the parts, from any directory

# the order of the page is the order in which the parts enter their myths
import myths_biased  # noqa: F401, I001
import myths_exact  # noqa: F401
import myths_proved  # noqa: F401
import myths_eagle2  # noqa: F401
from myths_tables import MYTHS

# %% [markdown]
# ## What must hold
#
# Each function has asserted its figures by the time it returns.


# %%
def main(names: list[str]) -> int:
    """Settle the named myths, all of them when there are no names. The exit status, 2 for an unknown name."""
    for name in names:
        if name not in MYTHS:
            print(f"error: NAME must be one of {', '.join(MYTHS)}, got {name!r}", file=sys.stderr)
            return 2
    for name in names or MYTHS:
        if not names:
            print(f"\n{name}: {MYTHS[name].__doc__}")
        MYTHS[name]()
    if not names:
        print("all assertions hold")
    return 0


if __name__ == "__main__":
    if status := main(sys.argv[1:] if Path(sys.argv[0]).name == "myths.py" else []):  # a notebook has other arguments
        sys.exit(status)

# %% [markdown]
# ## Break it
#
# 1. Find a pair p, q for which `residual_there_only` is exact although the draft is drawn from q. Which myth of the
#    third part have you just met?
# 2. In `grandparent`, give the target rows that depend on the last token alone. Which mask is right now, and what does
#    that say about testing a tree mask with a context-free target?
