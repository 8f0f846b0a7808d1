"""`python -m eagle_min train target`, `train head`, and a command for each rival: from text to weights and card.

A run is a folder; the same command goes on where it stopped. When it is done, the weights are
rounded to the bfloat16 they are stored in, measured on held-out text, and written with a card.
Read next: `corpus.py`.
"""

import argparse
import random
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from torch import nn

from ..checkpoint import read_card, save_model
from ..config import ModelConfig, require
from ..drafters.model_set import ModelSet, load, shipped_prompts
from ..files import command_line
from ..model import GPT
from ..tokenizer import Tokenizer, learn_vocabulary, load_tokenizer, save_vocabulary
from .batches import token_stream, training_streams, versions
from .corpus import load_corpus, load_held_out, mirrored
from .evaluate import agreement, bits_per_byte, sum_accuracy
from .head import HEAD_SHAPE, RECIPES, train_head
from .loop import Run, TrainConfig
from .network import train_network
from .ngram import NGram, lzma_bits_per_byte
from .rivals.registry import RIVALS
from .target import check_beside, train_target

BESIDE = "beside"  # name of a head that was trained beside a target
SCORED_TOKENS = 200_000  # of each domain's held-out text, spread evenly: the figure is good to some two hundredths
HEAD_BATCH_TOKENS = 2048  # a head is small and soon trained: smaller steps, more of them


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Sub-commands with the options they share."""
    models = parser.add_subparsers(dest="what", required=True)
    target = models.add_parser("target", help="train the target model")
    shape = ModelConfig()
    for name in ("vocab_size", "width", "num_layers", "num_heads", "hidden"):
        target.add_argument("--" + name.replace("_", "-"), type=int, default=getattr(shape, name))
    target.add_argument("--start-from", help="shipped set or folder whose target's weights to begin with")
    target.add_argument("--draft-weight", type=float, default=0.0, help="of the loss of a head trained beside it")
    target.add_argument("--head-from", help="head of the set to start from, as which the one beside it begins")
    head = models.add_parser("head", help="train an EAGLE head for a trained target")
    head.add_argument("--recipe", choices=sorted(RECIPES), default="steps")
    head.add_argument("--name", default="eagle", help="file name of the head")
    head.add_argument("--start-from", help="head of the set whose weights and shape to begin with")
    head.add_argument("--num-heads", type=int, help=f"of its attention ({HEAD_SHAPE['num_heads']})")
    head.add_argument("--hidden", type=int, help=f"inner width of its SwiGLU ({HEAD_SHAPE['hidden']})")
    rivals = [models.add_parser(kind, help=f"train what the drafter {kind} needs") for kind in RIVALS]
    for kind, rival in zip(RIVALS, rivals):
        rival.add_argument("--name", default=kind, help="file name of the weights")
    train = TrainConfig()
    for command in (target, head, *rivals):
        batch_tokens = train.batch_tokens if command is target else HEAD_BATCH_TOKENS
        command.add_argument("--batch-tokens", type=int, default=batch_tokens, help="in a step")
        command.add_argument("--models", type=Path, required=True, help="folder of the set of models")
        command.add_argument("--run", dest="folder", type=Path, required=True, help="folder of the run")
        command.add_argument("--tokens", type=int, default=train.tokens, help="how many to train on")
        command.add_argument("--decay", type=float, default=train.decay, help="share over which the rates fall")
        command.add_argument("--sums-share", type=float, default=train.sums_share, help="of the tokens")
        command.add_argument("--matrix-lr", type=float, default=train.matrix_lr, help="Muon's learning rate")
        command.add_argument("--other-lr", type=float, default=train.other_lr, help="AdamW's learning rate")
        command.add_argument("--threads", type=int, default=train.num_threads)
        command.add_argument("--seed", type=int, default=train.seed)


def run(args: argparse.Namespace) -> int:
    """Train what was asked for; ValueError or FileNotFoundError, one line, for what cannot be."""
    require(args.models.is_dir() or not args.models.exists(), "models", str(args.models), "a folder, or nothing yet")
    names = ("tokens", "batch_tokens", "decay", "sums_share", "matrix_lr", "other_lr", "seed")
    train = TrainConfig(**{name: getattr(args, name) for name in names}, num_threads=args.threads)
    if args.what == "target":
        return run_target(args, train)
    allowed = args.name.replace("-", "_").isidentifier() and len(args.name) <= 64
    require(allowed and args.name != "target", "name", args.name, "up to 64 letters, digits, - and _, and not target")
    other = args.what != "head" or args.name != args.start_from
    require(other, "name", args.name, "another than that of the head to start from")
    models = load_for(args)
    return run_head(args, train, models) if args.what == "head" else run_rival(args, train, models)


def load_for(args: argparse.Namespace) -> ModelSet:
    """The set to train for. ValueError where the name stands for another folder, which nothing would be written to,
    or where weights of another kind have the name that is to be written."""
    models = load(str(args.models))
    here = models.folder.resolve() == args.models.resolve()
    require(here, "models", str(args.models), f"a folder with a target; the shipped set is {models.folder}")
    if models.has(args.name):
        kind = read_card(models.folder, args.name).get("kind")
        require(kind == args.what, f"kind of {args.name!r}, which is there", kind, f"{args.what!r}, or another --name")
    return models


def run_target(args: argparse.Namespace, train: TrainConfig) -> int:
    """Train a target and write it; measure it and its rivals on held-out text, and complete the card."""
    config = ModelConfig(args.vocab_size, args.width, args.num_layers, args.num_heads, args.hidden)
    first = load(args.start_from) if args.start_from is not None else None
    check_beside(args.draft_weight, args.head_from, first)
    other = first is None or first.folder.resolve() != args.models.resolve()
    require(other, "models", str(args.models), "another folder than the set to start from")
    tokenizer = find_tokenizer(args.models / "tokenizer.ranks", config.vocab_size, first)
    target, head, done = train_target(config, train, tokenizer, args.folder, first, args.draft_weight, args.head_from)
    round_to_bfloat16(target)
    made = making(train, done)
    card = {"kind": "target", **made, "tokenizer_sha256": tokenizer.sha256}
    card |= {"started_from": first and read_card(first.folder, "target")}
    digest = save_model(target, args.models, "target", card)
    if head is not None:
        round_to_bfloat16(head)
        origin = args.head_from and read_card(first.folder, args.head_from)
        beside = {"kind": "head", "recipe": BESIDE, "target_sha256": digest, **made, "started_from": origin}
        save_model(head, args.models, BESIDE, beside)
    print("measuring on held-out text", file=sys.stderr)
    card |= measured(target, tokenizer, training_streams(tokenizer, args.folder.parent)["code"])
    digest = save_model(target, args.models, "target", card)
    print(f"target {digest[:12]}: {card['held_out_bits_per_byte']}, sums {card['held_out_sums_right']:.3f}")
    return 0


def measured(target: GPT, tokenizer: Tokenizer, code: np.ndarray) -> dict:
    """The part of a target's card about held-out text; `code` is the training stream of the 5-gram model.

    The target reads about SCORED_TOKENS of a domain, its rivals all of it.
    """
    corpus = load_held_out()
    held_out = corpus.held_out
    num_bytes = sum(len(text.encode()) for _, text in held_out["code"])
    return {
        "corpus_sha256": corpus.fingerprint(),
        "held_out_bits_per_byte": {
            domain: bits_per_byte(target, held_out[domain], tokenizer, SCORED_TOKENS) for domain in ("code", "prose")
        },
        "prompts_bits_per_byte": prompts_bits(target, tokenizer),
        "held_out_sums_right": sum_accuracy(target, tokenizer, held_out["sums"]),
        "of_them_unseen_both_ways_right": sum_accuracy(target, tokenizer, mirrored(held_out["sums"])[1]),
        "rivals_on_held_out_code": {
            "5-gram": NGram(code).bits(token_stream(held_out["code"], tokenizer)) / num_bytes,
            "lzma": lzma_bits_per_byte(held_out["code"]),
        },
    }


def prompts_bits(target: GPT, tokenizer: Tokenizer) -> float:
    """Bits per byte of the shipped prompts: a figure that a test can make again in a second."""
    return bits_per_byte(target, [(d, text) for d, texts in shipped_prompts().items() for text in texts], tokenizer)


def run_head(args: argparse.Namespace, train: TrainConfig, models: ModelSet) -> int:
    """Train a head for the target of the set, write weights and card."""
    recipe = RECIPES[args.recipe]
    given = {name: getattr(args, name) for name in HEAD_SHAPE if getattr(args, name) is not None}
    anew = args.start_from is None
    require(anew or not given, "shape of a head", given, "left out where it starts from another")
    shape = HEAD_SHAPE | given if anew else {}
    origin = None if anew else read_card(models.folder, args.start_from)
    head, done = train_head(models, recipe, train, args.folder, args.start_from, **shape)
    round_to_bfloat16(head)
    prompts = [models.tokenizer.prompt(text) for texts in shipped_prompts().values() for text in texts]
    card = {"kind": "head", "recipe": args.recipe, **asdict(recipe), "target_sha256": models.target_sha256}
    card |= {"agreement_on_prompts": agreement(models.target, head, prompts), **making(train, done)}
    digest = save_model(head, args.models, args.name, card | {"started_from": origin})
    print(f"head {args.name} {digest[:12]}")
    return 0


def run_rival(args: argparse.Namespace, train: TrainConfig, models: ModelSet) -> int:
    """Train a rival's network for the target of the set, write weights and card."""
    kind = args.what
    network, fields, done = train_network(models, RIVALS[kind], {"kind": kind}, train, args.folder)
    round_to_bfloat16(network)
    card = {"kind": kind, "target_sha256": models.target_sha256, **fields, **making(train, done)}
    digest = save_model(network, args.models, args.name, card)
    print(f"{kind} {args.name} {digest[:12]}")
    return 0


def making(train: TrainConfig, done: Run) -> dict:
    """What a card says about how its model was made."""
    return {
        "command": command_line(),
        "training": asdict(train),
        "tokens_seen": done.step * train.batch_tokens,
        "seconds": round(done.seconds),
        "loss_curve": done.losses,
        "versions": versions(),
    }


def find_tokenizer(path: Path, vocab_size: int, first: ModelSet | None) -> Tokenizer:
    """The set's tokenizer. When there is none yet: that of the set `first`, or its first merges; without one
    it is learned from a sample of the training text. ValueError when it has another size."""
    require(vocab_size > 256, "vocab_size", vocab_size, "above 256, the number of single bytes")
    if not path.exists() and first is not None:
        most = first.tokenizer.vocab_size
        require(vocab_size <= most, "vocab_size", vocab_size, f"at most {most}, that of the set to start from")
        path.parent.mkdir(parents=True, exist_ok=True)
        save_vocabulary(first.tokenizer.vocabulary[: vocab_size - 1], path)  # END is not in the file
    if not path.exists():
        corpus, rng = load_corpus(), random.Random(0)
        sample = rng.sample(corpus.train["code"], 350) + rng.sample(corpus.train["prose"], 150)
        path.parent.mkdir(parents=True, exist_ok=True)
        save_vocabulary(learn_vocabulary([text for _, text in sample], vocab_size), path)
    tokenizer = load_tokenizer(path)
    require(vocab_size == tokenizer.vocab_size, "vocab_size", vocab_size, f"{tokenizer.vocab_size}, as {path} has it")
    return tokenizer


@torch.no_grad()
def round_to_bfloat16(model: nn.Module) -> None:
    """What is measured is what is stored."""
    for param in model.parameters():
        param.copy_(param.bfloat16())
    model.eval()
