"""What a target call and a head pass cost, and what of it is arithmetic.

Speculative decoding pays when reading 24 tokens in one call costs little more than reading one.
On a GPU the reason is memory traffic; for a narrow model on a CPU it is the cost of starting
small operators, which a call pays once however many tokens it reads. Hence the *bare* products
beside the step: the same weight matrices times one vector each, nothing else.

All calls read behind CACHED tokens. What is compared takes turns (`timing.medians`).
Read next: `../figures/tables.py`.
"""

from collections.abc import Callable, Iterator

import numpy as np
import torch
import torch.nn.functional as F

from ...decode import generate
from ...drafters.model_set import ModelSet
from ...head import EagleDrafter, EagleHead
from ...model import GPT, Session
from ...tree import ancestor_mask, depths
from .prefixes import prompt_ids
from .timing import in_turn, medians, seconds_per_token

CACHED = 200
NUM_NODES = (1, 2, 4, 8, 16, 24, 32, 48)
GENERATED = 96  # tokens of a text that is timed whole


def tokens_of(target: GPT, count: int) -> list[int]:
    """Some token ids; which ones makes no difference to the seconds."""
    return [int(token) for token in np.random.default_rng(0).integers(target.vocab_size, size=count)]


def reader(session: Session, num_nodes: int) -> Callable[[], None]:
    """A call that reads a binary tree of so many nodes behind the cached tokens, then forgets it."""
    parents = [-1, *((node - 1) // 2 for node in range(1, num_nodes))]
    tokens = tokens_of(session.model, num_nodes)
    places, mask = [CACHED + depth for depth in depths(parents)], ancestor_mask(parents)

    def read() -> None:
        session.read(tokens, places, mask)
        session.keep(CACHED, [])

    return read


def full_session(target: GPT, num_spare: int) -> Session:
    """A session that has read CACHED tokens."""
    session = target.start(num_spare)
    session.read(tokens_of(target, CACHED), range(CACHED))
    return session


def call_seconds(target: GPT, rounds: int) -> dict[int, float]:
    """Median seconds of a target call for each of NUM_NODES, the root included."""
    session = full_session(target, max(NUM_NODES))
    return medians({size: reader(session, size) for size in NUM_NODES}, rounds)


def step_seconds(target: GPT, rounds: int) -> dict[str, float]:
    """Median seconds of a plain step (`step`) and of its matrix products bare (`bare`)."""
    matrices = [param for name, param in target.named_parameters() if param.ndim == 2 and not name.startswith("embed")]
    vectors = {size: torch.randn(1, size, dtype=matrices[0].dtype) for size in {m.shape[1] for m in matrices}}

    @torch.inference_mode()
    def bare() -> None:
        for matrix in matrices:
            F.linear(vectors[matrix.shape[1]], matrix)

    return medians({"step": reader(full_session(target, 1), 1), "bare": bare}, rounds)


def head_seconds(drafter: EagleDrafter, rounds: int) -> dict[str, float]:
    """Median seconds of a plain step (`step`) and of one head pass over a level of `top_k` nodes,
    LM head and softmax included (`head`)."""
    target, width = drafter.target, drafter.tree.top_k
    tokens = tokens_of(target, CACHED + width + 2)
    features, _ = target.start().read(tokens[:CACHED], range(CACHED))
    draft = drafter.start(tokens[:CACHED])
    draft.read(features, tokens[1 : CACHED + 1])
    level = tokens[CACHED + 1 : CACHED + 2 + width], [-1, *[0] * width], list(range(1, width + 1))

    @torch.inference_mode()
    def one_pass() -> None:
        draft.expansion()(*level)
        draft.cache.truncate(CACHED)

    return medians({"step": reader(full_session(target, 1), 1), "head": one_pass}, rounds)


def slowdowns(models: ModelSet, drafter: EagleDrafter, num_prompts: int, seed: int) -> Iterator[tuple[str, float]]:
    """What a drafter that knows nothing costs, at temperatures 0 and 1: seconds a token with a head like the
    drafter's that has random weights, over those of plain decoding. A label each, and the ratio."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        random_head = EagleHead(drafter.head.config).eval().requires_grad_(False)
    everyone = {"plain": None, "useless": EagleDrafter(models.target, random_head, drafter.grow, drafter.tree)}
    prompts = prompt_ids("code", models.tokenizer, num_prompts)
    for temperature in (0.0, 1.0):
        runs = in_turn(models.target, everyone, prompts, GENERATED, temperature, seed)
        slowdown = seconds_per_token(runs["useless"]) / seconds_per_token(runs["plain"])
        yield f"T={temperature:g}: seconds with a random head / plain", slowdown


def transformers_seconds(target: GPT, rounds: int) -> dict[str, float]:
    """Median seconds per token of plain `generate` here (`ours`) and in `transformers` (`theirs`).

    Their model has the same shape and random weights, which cost the same. ImportError when
    `transformers` is not installed.
    """
    from transformers import LlamaConfig, LlamaForCausalLM

    config = target.config
    shape = LlamaConfig(
        vocab_size=config.vocab_size,
        hidden_size=config.width,
        intermediate_size=config.hidden,
        num_hidden_layers=config.num_layers,
        num_attention_heads=config.num_heads,
        num_key_value_heads=config.num_heads,
        max_position_embeddings=config.context,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=None,  # never stops early
        pad_token_id=0,
    )
    rival = LlamaForCausalLM(shape).eval()
    prompt = tokens_of(target, 32)
    count = min(GENERATED, config.context - len(prompt))
    ids = torch.tensor([prompt])
    visible = torch.ones_like(ids)
    calls = {
        "ours": lambda: generate(target, prompt, max_new_tokens=count),
        "theirs": lambda: rival.generate(ids, attention_mask=visible, max_new_tokens=count, do_sample=False),
    }
    return {name: seconds / count for name, seconds in medians(calls, rounds).items()}
