"""The shipped models do what their cards say."""

import json
import math
from dataclasses import replace

import pytest
from networks import shipped

from eagle_min import generate
from eagle_min.checkpoint import read_card
from eagle_min.drafters.model_set import SHIPPED, shipped_prompts
from eagle_min.train.command import prompts_bits
from eagle_min.train.corpus import sums
from eagle_min.train.evaluate import agreement, sum_accuracy

FOLDER = SHIPPED / "tiny"
HEADS = ("eagle", "eagle-paper")


def test_target_beats_a_five_gram_model_and_lzma_on_held_out_code():
    card = read_card(FOLDER, "target")
    bits, rivals = card["held_out_bits_per_byte"]["code"], card["rivals_on_held_out_code"]
    assert bits <= 1.2 and bits < rivals["5-gram"] and bits < rivals["lzma"]


@pytest.mark.ci  # every day a head agrees with the target as its card says, which rests on both
def test_loss_on_the_shipped_prompts_is_the_one_on_the_card():
    models = shipped()
    assert prompts_bits(models.target, models.tokenizer) == pytest.approx(
        read_card(FOLDER, "target")["prompts_bits_per_byte"], rel=1e-4
    )


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "eagle" else [pytest.mark.ci]) for name in HEADS]
)
def test_agreement_of_a_head_on_the_shipped_prompts_is_the_one_on_its_card(name):
    models = shipped()
    head = models.drafter("eagle2", name).head
    prompts = [models.tokenizer.prompt(text) for texts in shipped_prompts().values() for text in texts]
    assert agreement(models.target, head, prompts) == pytest.approx(
        read_card(FOLDER, name)["agreement_on_prompts"],
        abs=0.005,  # a near tie may fall either way
    )


@pytest.mark.ci
def test_nine_in_ten_unseen_sums_are_answered_right_as_the_card_says():
    models = shipped()
    share = sum_accuracy(models.target, models.tokenizer, sums(0, num_documents=0)[1])
    assert share >= 0.9
    assert share == pytest.approx(read_card(FOLDER, "target")["held_out_sums_right"], abs=0.005)


def test_ten_and_two_is_twelve():
    models = shipped()
    answer = generate(models.target, models.tokenizer.prompt("10 + 2 ="), max_new_tokens=4)
    assert models.tokenizer.decode(answer.tokens).split("\n")[0] == " 12"


@pytest.mark.parametrize("name", ["target", *HEADS])
def test_card_says_how_the_model_was_made(name):
    card = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    for key in ("command", "training", "tokens_seen", "seconds", "versions", "sha256", "config"):
        assert card[key]


def test_the_lean_tree_is_that_of_its_limits_without_what_it_is_unsure_of():
    """The first tree behind some prompts, which is a function of the prompt."""
    models, smaller = shipped(), 0
    lean = models.drafter("eagle2-lean")
    whole = models.drafter("eagle2", tree=replace(lean.tree, min_confidence=0.0))
    floor = math.log(0.02)
    for text in shipped_prompts()["code"][:4]:
        prompt = models.tokenizer.prompt(text)
        few, all_of_it = (
            generate(models.target, prompt, drafter, max_new_tokens=20).cycles[1].tree.log_confidence
            for drafter in (lean, whole)
        )
        assert [value for value in all_of_it if value >= floor] == pytest.approx(few, abs=1e-3)
        smaller += len(few) < len(all_of_it)
    assert smaller


def test_trained_head_drafts_better_than_chance():
    """Free-running code at temperature 0: more than two tokens a target call."""
    models = shipped()
    prompt = models.tokenizer.prompt(shipped_prompts()["code"][0])
    assert generate(models.target, prompt, models.drafter("eagle2"), max_new_tokens=64).tau > 2
