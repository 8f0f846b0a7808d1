"""The law of a whole decoding loop on tables: the wanted one, a product of conditionals, and that of the loop itself.

What is wanted is written here and in `oracles.py` without the package.
"""

from fractions import Fraction

from hypothesis import note
from loops import Loop
from oracles import filtered_law

from eagle_min import generate
from eagle_min.exactness.law import law


def conditional(loop: Loop, history: tuple[int, ...]) -> list[Fraction]:
    """The law of the token after `history`: power of the weights, top-k, top-p; or the first maximum."""
    weights = list(loop.world.target.weights(history))
    if loop.sampling.temperature == 0:
        return [Fraction(token == weights.index(max(weights))) for token in range(len(weights))]
    powers = [weight ** round(1 / loop.sampling.temperature) for weight in weights]
    return filtered_law(powers, loop.sampling.top_k, loop.sampling.top_p)


def wanted_law(loop: Loop) -> dict[tuple, Fraction]:
    """(tokens, reason) -> probability: one token after another until one of the three ends."""
    prompt, result = loop.world.history, {}

    def go_on(tokens: tuple[int, ...], probability: Fraction) -> None:
        if tokens and tokens[-1] in loop.stop:
            result[tokens, "stop"] = probability
        elif len(tokens) == loop.max_new_tokens:
            result[tokens, "length"] = probability
        elif len(prompt) + len(tokens) == loop.context:
            result[tokens, "context"] = probability
        else:
            for token, share in enumerate(conditional(loop, prompt + tokens)):
                if share:
                    go_on((*tokens, token), probability * share)

    go_on((), Fraction(1))
    return result


def loop_law(loop: Loop, drafter=None) -> dict[tuple, Fraction]:
    """The same through `generate` under dice that visit every outcome."""

    def program(dice) -> tuple:
        result = generate(loop.target(), loop.world.history, drafter, dice=dice, **loop.options())
        return tuple(result.tokens), result.finish_reason

    return law(program)


def assert_exact(loop: Loop) -> None:
    note(str(loop))
    got, wanted = loop_law(loop, loop.drafter()), wanted_law(loop)
    assert all(isinstance(probability, Fraction) for probability in got.values())
    assert got == wanted
