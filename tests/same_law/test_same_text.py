"""Same seed, same text: speculative decoding gives plain decoding's text, token for token.

At every temperature, top-k, top-p, seed, tree and length, for every drafter whose trees are a
function of the context. Strictly in fractions and in float64; in float32 up to a first
difference that `ties.py` must explain.
"""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from loops import CONTEXT_KINDS, loops
from networks import CONFIG, TREES, random_drafter, random_target, shipped
from strategies import fewer
from ties import CEILING, SAFETY, first_difference, gap, noise, text_and_rows

from eagle_min import generate
from eagle_min.config import SamplingConfig, TreeConfig
from eagle_min.dice import SeededDice
from eagle_min.grow import confidence
from eagle_min.head import EagleDrafter
from eagle_min.sampling import next_token_law
from eagle_min.train.head import new_head

SAMPLINGS = [
    SamplingConfig(0.0),
    SamplingConfig(1.0),
    SamplingConfig(0.7, top_k=5),
    SamplingConfig(1.3, top_p=0.8),
    SamplingConfig(0.9, top_k=20, top_p=0.9),
]


def options(sampling: SamplingConfig, **more) -> dict:
    return {"temperature": sampling.temperature, "top_k": sampling.top_k, "top_p": sampling.top_p, **more}


def assert_same(target, prompt, drafter, **how) -> None:
    plain, drafted = generate(target, prompt, **how), generate(target, prompt, drafter, **how)
    assert drafted.tokens == plain.tokens
    assert drafted.finish_reason == plain.finish_reason
    assert drafted.target_calls <= plain.target_calls


@pytest.mark.parametrize("kind", CONTEXT_KINDS)
def test_same_text_on_tables(kind):
    @given(loops(kinds=[kind], vocab_size=4, most_new=12, max_nodes=12), st.integers(0, 2**32), st.booleans())
    def check(loop, seed, floats):
        how = loop.options() | {"seed": seed}
        assert_same(loop.target(floats), loop.world.history, loop.drafter(), **how)

    check()


@given(loops(kinds=["static_sampled"], vocab_size=4, most_new=12, max_nodes=12), st.booleans())
def test_sampled_children_give_the_greedy_text_at_temperature_0(loop, floats):
    how = loop.options() | {"temperature": 0.0}
    assert_same(loop.target(floats), loop.world.history, loop.drafter(exact=not floats), **how)


@pytest.mark.parametrize("kind", TREES)
def test_same_text_on_random_networks(kind):
    """Prompts from one token to the whole context, decoded to the end of one of the limits."""
    tokens = st.integers(0, CONFIG.vocab_size - 1)
    lengths = st.sampled_from([1, 2, 20, CONFIG.context - 12, CONFIG.context - 3, CONFIG.context - 1, CONFIG.context])
    prompts = lengths.flatmap(lambda length: st.lists(tokens, min_size=length, max_size=length))
    trees = st.builds(TreeConfig, st.integers(1, 12), st.integers(1, 5), st.integers(1, 9))

    @fewer(2)
    @given(st.integers(0, 3), prompts, trees, st.sampled_from(SAMPLINGS), st.sampled_from([0, 1, 7, 15]), tokens)
    def check(seed, prompt, tree, sampling, length, stop):
        how = options(sampling, max_new_tokens=length, seed=seed, stop={stop} if stop else ())
        assert_same(random_target(seed), prompt, random_drafter(kind, seed, tree), **how)

    check()


@pytest.mark.parametrize(
    "kind", ["eagle2", *(pytest.param(kind, marks=pytest.mark.ci) for kind in ("eagle1", "ratio", "chain"))]
)
def test_same_text_on_the_shipped_network_in_float64(kind):
    models = shipped(torch.float64)
    drafter, encode = models.drafter(kind), models.tokenizer.prompt
    prompts = [[models.tokenizer.end_id], encode("def mean(values):\n    return "), encode("3 + 4 =")]
    for number, sampling in enumerate(SAMPLINGS):
        prompt = prompts[number % len(prompts)]
        assert_same(models.target, prompt, drafter, **options(sampling, max_new_tokens=10, seed=number))


@pytest.mark.ci
def test_same_text_up_to_the_last_position_of_the_shipped_context():
    models = shipped(torch.float64)
    drafter = models.drafter("eagle2")
    ids = models.tokenizer.prompt("for item in items:\n    total += item\n" * 60)
    for room, sampling in [(9, SAMPLINGS[0]), (8, SAMPLINGS[1]), (1, SAMPLINGS[1]), (0, SAMPLINGS[0])]:
        prompt = ids[: models.target.context - room]
        assert_same(models.target, prompt, drafter, **options(sampling, max_new_tokens=100))
        result = generate(models.target, prompt, drafter, max_new_tokens=100)
        assert result.finish_reason == "context"
        assert len(prompt) + len(result.tokens) == models.target.context


def test_same_text_with_a_useless_head_on_the_shipped_network():
    models = shipped(torch.float64)
    head = new_head(models.target, seed=3).double()
    torch.nn.init.normal_(head.fuse.weight)  # a guess that has nothing to do with the feature
    drafter = EagleDrafter(models.target, head, confidence, TreeConfig())
    prompt = models.tokenizer.prompt("import ")
    for sampling in SAMPLINGS[:2]:
        assert_same(models.target, prompt, drafter, **options(sampling, max_new_tokens=12))


def test_float32_text_differs_only_at_explained_ties():
    """Prints the gap and the bound of each tie, and how many there were."""
    models = shipped()
    drafter = models.drafter("eagle2")
    bound = SAFETY * noise(models, drafter)
    assert 0 < bound < CEILING
    prompts = ["def read_config(path):\n", "import os\n\nclass Node:\n", "The value must be ", "12 + 30 ="]
    num_runs, num_ties = 8, 0
    for seed in range(num_runs):
        sampling = SAMPLINGS[seed % len(SAMPLINGS)]
        prompt = models.tokenizer.prompt(prompts[seed % len(prompts)])
        how = options(sampling, max_new_tokens=20, seed=seed)
        plain, rows = text_and_rows(models.target, prompt, None, **how)
        drafted, _ = text_and_rows(models.target, prompt, drafter, **how)
        place = first_difference(plain, drafted)
        if place is not None:
            num_ties += 1
            margin = gap(rows[place], sampling, seed, len(prompt) + place)
            print(f"{sampling}: token {place} differs, gap {margin:.2e}, bound {bound:.2e}")
            assert margin <= bound
    print(f"{num_ties} ties in {num_runs} runs, bound {bound:.2e}")


def test_gap_is_what_a_decision_bears():
    """The measure itself: less noise than the gap never changes a token, and ties have no gap."""
    assert gap(torch.tensor([1.0, 3.0, 3.0]).numpy(), SamplingConfig(0.0), 0, 0) == 0
    assert gap(torch.tensor([1.0, 3.0, 2.0]).numpy(), SamplingConfig(0.0), 0, 0) == 0.5
    assert gap(torch.tensor([2.0, 3.0, 2.0]).numpy(), SamplingConfig(1.0, top_k=2), 0, 0) == 0


@given(st.lists(st.floats(-3, 3), min_size=3, max_size=6), st.sampled_from(SAMPLINGS), st.integers(0, 99), st.data())
def test_noise_below_the_gap_never_changes_a_token(logits, sampling, seed, data):
    row = torch.tensor(logits, dtype=torch.float64).numpy()
    sampling = SamplingConfig(sampling.temperature, sampling.top_k and min(sampling.top_k, 2), sampling.top_p)
    margin = gap(row, sampling, seed, 0)
    signs = data.draw(st.lists(st.sampled_from([-0.99, 0.0, 0.99]), min_size=len(row), max_size=len(row)))
    moved = row + margin * torch.tensor(signs).double().numpy()
    drawn = [SeededDice(seed).categorical(next_token_law(r, sampling), ("target", 0)) for r in (row, moved)]
    assert margin < 1e-9 or drawn[0] == drawn[1]
