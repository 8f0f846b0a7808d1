"""`generate "PROMPT"`: continue one prompt, and show which tokens came free.

The text streams to stdout as it is made. With `--json` stdout has one line of JSON instead, for a
program.
Read next: `demo.py`.
"""

import argparse
import json

import torch

from ..config import require
from ..decode import Cycle, Generation, stream
from ..drafters.model_set import ModelSet, load
from ..drafters.registry import DRAFTERS
from ..tokenizer import Tokenizer
from .terminal import Painter, RunningText, count, label, picture, printable, run_to_end, show_tau, wants_colour


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `generate`; ranges are checked where the values are used."""
    parser.add_argument("prompt", metavar="PROMPT", help="the text to continue")
    parser.add_argument("--max-new-tokens", type=int, default=128, help="at least 0 (default 128)")
    parser.add_argument("--temperature", type=float, default=0.0, help="at least 0; 0 is greedy (default)")
    parser.add_argument("--top-k", type=int, default=None, help="keep so many tokens, at least 1 (default: all)")
    parser.add_argument("--top-p", type=float, default=1.0, help="keep this share, above 0 up to 1 (default 1)")
    parser.add_argument("--seed", type=int, default=0, help="the same seed gives the same text (default 0)")
    parser.add_argument("--drafter", metavar="NAME", default="eagle2", help=", ".join(DRAFTERS) + " (default eagle2)")
    parser.add_argument("--tree", action="store_true", help="draw the draft tree of each cycle")
    parser.add_argument("--device", default="cpu", help="cpu (default), cuda, cuda:1, mps")
    parser.add_argument("--model", default="tiny", help="a shipped set of models or a folder (default tiny)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON in place of the text")


def run(args: argparse.Namespace) -> int:
    """Check everything that can be checked, decode, report."""
    require(args.prompt != "", "prompt", args.prompt, "at least 1 character long")
    check_device(args.device)
    models = load(args.model, args.device)
    prompt_ids = models.tokenizer.prompt(args.prompt)
    cycles = stream(
        models.target,
        prompt_ids,
        models.drafter(args.drafter),
        max_new_tokens=args.max_new_tokens,
        temperature=args.temperature,
        top_k=args.top_k,
        top_p=args.top_p,
        seed=args.seed,
        stop={models.tokenizer.end_id},
    )
    if args.json:
        generation, _ = run_to_end(cycles)
        print(json.dumps(as_json(args, models, generation)))
        return 0
    printer = Printer(models.tokenizer, args.tree)
    printer.begin(prompt_ids)
    generation, _ = run_to_end(cycles, printer.cycle)
    printer.finish(generation, args.drafter)
    return 0


def check_device(name: str) -> None:
    """ValueError unless tensors can live on the device of that name, here and now."""
    names = ["cpu"]
    if torch.cuda.is_available():
        names += ["cuda", *(f"cuda:{number}" for number in range(torch.cuda.device_count()))]
    if torch.backends.mps.is_available():
        names.append("mps")
    require(name in names, "device", name, f"one that is available here ({', '.join(names)})")


def as_json(args: argparse.Namespace, models: ModelSet, generation: Generation) -> dict:
    """What `--json` writes: the result, and all that is needed to get it again."""
    options = ("model", "drafter", "temperature", "top_k", "top_p", "max_new_tokens", "seed")
    return {
        "tokens": generation.tokens,
        "text": models.tokenizer.decode(generation.tokens),
        "finish_reason": generation.finish_reason,
        "tau": generation.tau,
        "target_calls": generation.target_calls,
        "accepted": [cycle.num_accepted for cycle in generation.cycles],
        "prompt": args.prompt,
        **{name: getattr(args, name) for name in options},
    }


class Printer:
    """Prints a generation as it comes, either as running text or as one tree after the other."""

    def __init__(self, tokenizer: Tokenizer, trees: bool) -> None:
        self.tokenizer, self.trees = tokenizer, trees
        self.painter = Painter(wants_colour())
        self.text = RunningText(tokenizer, self.painter)
        self.number = 0

    def begin(self, prompt_ids: list[int]) -> None:
        """Legend and prompt."""
        prompt = self.painter.prompt(printable(self.tokenizer.decode(prompt_ids)))
        print(self.painter.legend(), prompt, sep="\n\n", end="\n" if self.trees else "", flush=True)

    def cycle(self, cycle: Cycle) -> None:
        """What one target call added."""
        if not self.trees:
            print(self.text.add(cycle), end="", flush=True)
            return
        accepted = self.painter.accepted(label(self.tokenizer, *cycle.tokens[: cycle.num_accepted]))
        own = self.painter.bonus(label(self.tokenizer, *cycle.tokens[cycle.num_accepted :]))
        print(f"\ncall {self.number}: {accepted}{own}", flush=True)
        if cycle.tree is not None:
            print(picture(cycle.tree, cycle, self.tokenizer, self.painter), flush=True)
        self.number += 1

    def finish(self, generation: Generation, drafter: str) -> None:
        """The last line: why the text ended and what it cost."""
        if not self.trees:
            print(self.text.end())
        tokens, calls = count(len(generation.tokens), "token"), count(generation.target_calls, "target call")
        tau = show_tau(generation.tau)
        print(f"\n{drafter}: {tokens}, {calls}, tau {tau}, ended by {generation.finish_reason}")
