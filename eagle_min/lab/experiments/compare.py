"""`compare`, a command of its own: drafters side by side, a row for each domain and temperature.

Two kinds of text are decoded. Random held-out prefixes give tau over the first two cycles, with
an interval from resampling files, and n-alpha of chains. The shipped prompts, continued freely up to a
stop, give tau of free-running text, the share of distinct tokens and the seconds, for which
plain decoding and all drafters take turns. Read next: `bench.py`.
"""

from argparse import Namespace
from collections.abc import Collection, Iterator, Sequence

from ...checkpoint import read_card
from ...config import require
from ...decode import Drafter, tau
from ...drafters.model_set import ModelSet
from ...drafters.registry import DRAFTERS, REGISTRY
from ...train.evaluate import bits_per_byte
from ..experiment import Experiment, Setting, say
from ..figures import comparison as shown
from ..instruments import measures
from ..instruments.counted import CountedDrafter
from ..instruments.prefixes import DOMAINS, held_out_prefixes, prompt_ids, with_room
from ..instruments.timing import Timed, in_turn, ratio_figures, seconds_per_token
from ..options import SEED, Option, count, names, split_list, temperatures
from ..record import Row
from ..runner import command

PLAIN = "plain"  # not the name of a drafter
SIZES = {  # option -> what it counts, its default, its default in a trial run
    "prefixes": ("random held-out prefixes per domain", 500, 12),
    "prompts": ("shipped prompts per domain", 20, 2),
    "max_new_tokens": ("tokens of a free-running text", 128, 32),
}
BITS_TOKENS, QUICK_BITS_TOKENS = 40_000, 4096  # scored for bits per byte; the target's card has a figure from more


def size_of(name: str, options: Namespace) -> int:
    """One of SIZES: what was asked for, or the default of the run."""
    given = getattr(options, name)
    return SIZES[name][1 + options.quick] if given is None else given


def check_drafters(text: str) -> list[str] | None:
    """The labels that were asked for; None: all that the set has. ValueError for one that is none."""
    if text == "all":
        return None
    found = split_list(text)
    for label in found:
        name, at, weights = label.partition("@")
        require(name in DRAFTERS, "drafter", label, f"one of {', '.join(DRAFTERS)}")
        good = not at or (weights and name != "none" and REGISTRY[name].weights is not None)
        require(bool(good), "drafter", label, "NAME, or NAME@WEIGHTS where it has any")
    return found


def labels(setting: Setting) -> list[str]:
    """What is compared: names of drafters, some with `@` and other weights than their own."""
    return setting.models.drafters() if setting.options.drafters is None else setting.options.drafters


def weights_used(setting: Setting) -> Collection[str]:
    """The trained parts of all drafters; what is wrong with any of them is found here."""
    for label in labels(setting):
        setting.models.drafter(*drafter_and_weights(label))
        weights_figures(setting.models, label)
    return {drafter_and_weights(label)[1] for label in labels(setting)} - {None}


def drafter_and_weights(label: str) -> tuple[str, str | None]:
    """`eagle2`, or `eagle2@eagle-paper`: a drafter, and what it drafts with, its own unless others are named; None
    for one without weights."""
    name, _, weights = label.partition("@")
    return name, weights or (REGISTRY[name].weights if name in REGISTRY else None)


def measured(setting: Setting) -> Iterator[Row]:
    """A row for each domain, temperature and drafter, in this order."""
    models, options = setting.models, setting.options
    if options.drafters is None:
        missing = [name for name in REGISTRY if name not in labels(setting)]
        say(f"left out, for want of weights: {', '.join(missing) or 'none'}")
    drafters = {label: models.drafter(*drafter_and_weights(label)) for label in labels(setting)}
    about_weights = {label: weights_figures(models, label) for label in drafters}
    for domain in options.domains:
        documents, longest = setting.corpus.held_out[domain], with_room(models.target.context)
        num_prefixes = size_of("prefixes", options)
        prefixes = held_out_prefixes(domain, documents, models.tokenizer, num_prefixes, setting.seed, longest)
        limit = QUICK_BITS_TOKENS if options.quick else BITS_TOKENS
        bits = bits_per_byte(models.target, documents, models.tokenizer, limit)
        for temperature in options.temperatures:
            timed, counted = free_running(setting, drafters, domain, temperature)
            for label, drafter in drafters.items():
                place = {"drafter": label, "domain": domain, "temperature": temperature}
                taus = measures.prefix_figures(models.target, drafter, prefixes, temperature, setting.seed)
                texts = text_figures(timed[PLAIN], timed[label]) | drafting_figures(counted[label])
                yield {**place, **taus, **texts, "bits_per_byte": bits, **about_weights[label]}


def free_running(
    setting: Setting, drafters: dict[str, Drafter | None], domain: str, temperature: float
) -> tuple[dict[str, list[Timed]], dict[str, CountedDrafter | None]]:
    """The shipped prompts continued by plain decoding and by each drafter in turn, and what drafting took."""
    models, options = setting.models, setting.options
    prompts = prompt_ids(domain, models.tokenizer, size_of("prompts", options))
    say(f"{domain} T={temperature:g}: decoding {len(prompts)} prompts, then prefixes")
    counted = {label: None if drafter is None else CountedDrafter(drafter) for label, drafter in drafters.items()}
    length, stop = size_of("max_new_tokens", options), {models.tokenizer.end_id}
    everyone = {PLAIN: None, **counted}
    return in_turn(models.target, everyone, prompts, length, temperature, setting.seed, stop), counted


def drafting_figures(counted: CountedDrafter | None) -> Row:
    """What drafting took in a cycle, as it was timed with the texts."""
    seconds, passes = counted.per_cycle if counted is not None else (0.0, 0.0)
    return {"seconds_drafting": seconds, "draft_passes": passes}


def weights_figures(models: ModelSet, label: str) -> Row:
    """Size of the network that a drafter uses, and the tokens it was trained on with all it started from. ValueError
    for a card that does not say."""
    name, weights = drafter_and_weights(label)
    if weights is None:
        return {"parameters": 0, "training_tokens": 0}
    network, card = REGISTRY[name].load(models.folder, weights), read_card(models.folder, weights)
    seen = []
    while card:
        good = isinstance(card, dict) and type(card.get("tokens_seen", 0)) is int
        require(good, f"training told by the card of {weights!r}", card, "cards with an integer as tokens_seen")
        seen.append(card.get("tokens_seen", 0))
        card = card.get("started_from")
    return {"parameters": sum(p.numel() for p in network.parameters()), "training_tokens": sum(seen)}


def text_figures(plain: Sequence[Timed], speculative: Sequence[Timed]) -> Row:
    """What free-running text says."""
    cycles = [cycle for run in speculative for cycle in run.text.cycles[1:]]
    return {
        "tau_free": tau(cycles),
        "distinct": measures.distinct([run.text for run in speculative]),
        "seconds_plain": seconds_per_token(plain),
        "seconds_speculative": seconds_per_token(speculative),
        **ratio_figures(plain, speculative),
        "seconds_per_cycle": sum(run.seconds for run in speculative) / max(1, len(cycles)),
        "num_prompts": len(speculative),
        "num_identical": sum(a.text.tokens == b.text.tokens for a, b in zip(plain, speculative)),
    }


EXPERIMENT = Experiment(
    name="compare",
    question="How long are the runs that each drafter has accepted, and how fast does that make a text?",
    options=[
        Option(
            "drafters",
            "all",
            "names, or NAME@WEIGHTS for others of the set, or all that the set has",
            check=check_drafters,
        ),
        names("domains", "domain", DOMAINS, "of code, prose, sums"),
        temperatures("0,1"),
        *(
            count(name, None, f"{what} (default {full}, {quick} in a trial run)")
            for name, (what, full, quick) in SIZES.items()
        ),
        SEED,
        Option("quick", False, "a trial run: smaller defaults, other options as given", bool),
    ],
    rows=measured,
    tables=[shown.ALL, shown.COSTS],
    weights=weights_used,
    progress=lambda rows: "{domain} T={temperature:g} {drafter}: tau {tau:.2f}".format(**rows[-1]),
    pictures={"tau.svg": shown.tau, "faster.svg": shown.faster, "alpha.svg": shown.alpha},
)
add_arguments, run = command(EXPERIMENT)
