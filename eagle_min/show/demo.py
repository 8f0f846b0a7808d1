"""The demo: shipped prompts decoded plainly and with EAGLE-2, texts and costs side by side.

For each prompt and temperature the text is made twice in turn, first plainly and in silence,
then speculatively and on the screen; the clock stands still while something is printed.
Both use the same seed, and the texts must be the same, sampled ones too.
Read next: `difference.py`.
"""

import argparse
from dataclasses import dataclass

from ..config import require
from ..decode import Generation, generate, stream, tau
from ..dice import SeededDice
from ..drafters.model_set import ModelSet, load, shipped_prompts
from .difference import Difference, explain
from .terminal import Painter, RunningText, label, picture, printable, run_to_end, show_tau, wants_colour

DRAFTER = "eagle2"
PROMPTS_PER_DOMAIN = 2
TEMPERATURES = (0.0, 1.0)
WARM_UP_TOKENS = 16


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the demo; it needs none."""
    parser.add_argument("--max-new-tokens", type=int, default=96, help="of each text, at least 2 (default 96)")
    parser.add_argument("--seed", type=int, default=0, help="for temperature 1 (default 0)")
    parser.add_argument("--model", default="tiny", help="a shipped set of models or a folder (default tiny)")


@dataclass(frozen=True)
class Pair:
    """One prompt at one temperature, decoded both ways. Seconds are of decoding alone."""

    domain: str
    temperature: float
    plain: Generation
    plain_seconds: float
    fast: Generation
    fast_seconds: float
    difference: Difference | None  # None: the texts are identical

    @property
    def at_fault(self) -> bool:
        """True when the texts differ by more than a rounding."""
        return self.difference is not None and not self.difference.rounding


def run(args: argparse.Namespace) -> int:
    """Decode, show, compare; exit status 1 when texts differ by more than a rounding."""
    require(args.max_new_tokens >= 2, "max_new_tokens", args.max_new_tokens, "at least 2 in the demo")
    SeededDice(args.seed)  # refuses a bad seed now, before anything is printed
    models, painter = load(args.model), Painter(wants_colour())
    prompts = {domain: texts[:PROMPTS_PER_DOMAIN] for domain, texts in shipped_prompts().items()}
    warm_up(models)
    print(f"{describe(models)}\n{painter.legend()}")
    pairs = []
    for domain, texts in prompts.items():
        for text in texts:
            for temperature in TEMPERATURES:
                print(f"\n--- {domain}, temperature {temperature:g}")
                options = {"max_new_tokens": args.max_new_tokens, "temperature": temperature, "seed": args.seed}
                pairs.append(decode_twice(models, painter, domain, text, options))
    print(f"\n{best_tree(models, painter, pairs)}\n\n{summary(pairs)}")
    return 1 if any(pair.at_fault for pair in pairs) else 0


def describe(models: ModelSet) -> str:
    """One line about what decodes."""
    config = models.target.config
    size = sum(parameter.numel() for parameter in models.target.parameters()) / 1e6
    shape = f"{config.num_layers} layers, width {config.width}, {size:.1f} million parameters"
    return f"target: {shape}; drafter: {DRAFTER}"


def warm_up(models: ModelSet) -> None:
    """The first calls of an operator are slow; they are not measured."""
    for drafter in (None, models.drafter(DRAFTER)):
        generate(models.target, models.tokenizer.prompt("def f("), drafter, max_new_tokens=WARM_UP_TOKENS)


def decode_twice(models: ModelSet, painter: Painter, domain: str, prompt: str, options: dict) -> Pair:
    """Plainly, then with the drafter on the screen, then the comparison."""
    prompt_ids = models.tokenizer.prompt(prompt)
    options = {**options, "stop": {models.tokenizer.end_id}}
    plain, plain_seconds = run_to_end(stream(models.target, prompt_ids, None, **options))
    text = RunningText(models.tokenizer, painter)
    print(painter.prompt(printable(prompt)), end="", flush=True)
    fast, fast_seconds = run_to_end(
        stream(models.target, prompt_ids, models.drafter(DRAFTER), **options),
        lambda cycle: print(text.add(cycle), end="", flush=True),
    )
    print(text.end())
    difference = explain(models, DRAFTER, prompt_ids, options, (plain.tokens, fast.tokens))
    pair = Pair(domain, options["temperature"], plain, plain_seconds, fast, fast_seconds, difference)
    print(outcome(models, pair))
    return pair


def outcome(models: ModelSet, pair: Pair) -> str:
    """What one pair showed, on one line, or two when its texts differ."""
    cost = (
        f"tau {show_tau(pair.fast.tau)}, target calls {pair.fast.target_calls} for {pair.plain.target_calls}, "
        f"seconds {pair.fast_seconds:.2f} for {pair.plain_seconds:.2f}"
    )
    found = pair.difference
    if found is None:
        return f"=> identical to plain decoding; {cost}"
    shown = ["the end" if t is None else label(models.tokenizer, t) for t in (found.plain, found.speculative)]
    verdict = "agree: a rounding tie, no fault" if found.rounding else "differ too: A FAULT"
    return (
        f"=> NOT identical to plain decoding; {cost}\n"
        f"   token {found.place}: plain {shown[0]}, {DRAFTER} {shown[1]}; the plain choice was {found.gap:.1e} "
        f"from falling otherwise; in float64 the two texts {verdict}"
    )


def best_tree(models: ModelSet, painter: Painter, pairs: list[Pair]) -> str:
    """The draft tree with the longest accepted path, the first of several."""
    cycles = [(pair, cycle) for pair in pairs for cycle in pair.fast.cycles if cycle.tree is not None]
    if not cycles:
        return "no draft tree was grown"
    pair, cycle = max(cycles, key=lambda both: both[1].num_accepted)
    title = (
        f"--- the draft tree of one cycle ({pair.domain}, temperature {pair.temperature:g}): "
        f"{cycle.num_accepted} of {cycle.tree.num_drafted} drafted tokens accepted\n"
        "each node: token, the draft's confidence in the path to it; ● accepted"
    )
    return f"{title}\n{picture(cycle.tree, cycle, models.tokenizer, painter)}"


def summary(pairs: list[Pair]) -> str:
    """A row a temperature, and the verdict."""
    lines = [
        f"temperature  identical    tau   target calls     seconds decoding  ratio\n"
        f"                                plain {DRAFTER:>6}    plain {DRAFTER:>6}"
    ]
    for temperature in TEMPERATURES:
        group = [pair for pair in pairs if pair.temperature == temperature]
        same = sum(pair.difference is None for pair in group)
        mean = show_tau(tau(cycle for pair in group for cycle in pair.fast.cycles[1:]))
        calls = [sum(pair.plain.target_calls for pair in group), sum(pair.fast.target_calls for pair in group)]
        plain, fast = sum(pair.plain_seconds for pair in group), sum(pair.fast_seconds for pair in group)
        lines.append(
            f"{temperature:<11g}  {f'{same} of {len(group)}':<9}  {mean:>5}  "
            f"{calls[0]:>6} {calls[1]:>6}   {plain:>6.2f} {fast:>6.2f}  {plain / fast:>5.2f}"
        )
    return "\n".join([*lines, verdict(pairs)])


def verdict(pairs: list[Pair]) -> str:
    """The last line: identical or not."""
    ties = sum(pair.difference is not None for pair in pairs)
    faults = sum(pair.at_fault for pair in pairs)
    if faults:
        return f"NOT identical: {faults} of {len(pairs)} texts differ from plain decoding (see => above)."
    if ties:
        return f"Identical but for {ties} of {len(pairs)} texts, where a rounding decided (see => above)."
    return f"Identical: all {len(pairs)} texts are the ones plain decoding gives."
