"""Faulty decoders: filters on some rows only, caches that keep the wrong tokens, texts that end wrongly."""

from dataclasses import replace

from eagle_min.config import SamplingConfig
from eagle_min.exactness.worlds.decodings import Decoding
from eagle_min.sampling import next_token_law

from .row import END, SIBLINGS, THREE_LAWS, Faulty, P, Q, after, first, law_of, pair, world


def filtered(row, sampling, last):
    """The law of the next token; `last`: nothing was drafted behind."""
    return next_token_law(row, sampling)


def filtered_last(row, sampling, last):
    """Only the row of the bonus is filtered."""
    return next_token_law(row, sampling if last else SamplingConfig(1.0))


def as_at_one(row, sampling, last):
    """Temperature 0 is greedy, any other is taken for 1."""
    return next_token_law(row, replace(sampling, temperature=float(sampling.temperature > 0)))


def without_top_p(row, sampling, last):
    """top_p is not looked at."""
    return next_token_law(row, replace(sampling, top_p=1.0))


def with_ties(row, sampling, last):
    """All that tie with the last of the top k stay."""
    law = next_token_law(row, SamplingConfig(sampling.temperature or 1.0))
    count = 1 if sampling.temperature == 0 else sampling.top_k or len(law)
    kept = law * (law >= sorted(law)[::-1][:count][-1])
    return next_token_law(kept, SamplingConfig(1.0, top_p=sampling.top_p))


def path_rows(cached, tokens, path):
    """What is cached behind a cycle: the accepted path."""
    return [*cached, *(int(tokens[node]) for node in path)]


def first_rows(cached, tokens, path):
    """As many rows as the path has, but the first ones."""
    return [*cached, *map(int, tokens[: len(path)])]


def one_too_few(cached, tokens, path):
    """The last row of the path is trimmed too."""
    return path_rows(cached, tokens, path[:-1])


def one_too_many(cached, tokens, path):
    """A row that was rejected stays."""
    rejected = [node for node in range(len(tokens)) if node not in path][:1]
    return path_rows(cached, tokens, [*path, *rejected])


def nothing(cached, tokens, path):
    """The cache is cleared instead of rolled back."""
    return []


def in_order(text, new, drafted, stop, limit):
    """The text so far and whether it has ended: token by token, at a stop token or the limit."""
    for place, token in enumerate(new):
        if token in stop or len(text) + place + 1 == limit:
            return [*text, *new[: place + 1]], True
    return [*text, *new], False


def stop_at_the_end(text, new, drafted, stop, limit):
    """Only the last token of a cycle can end the text."""
    text = [*text, *new]
    return text[:limit], text[-1] in stop or len(text) >= limit


def limit_first(text, new, drafted, stop, limit):
    """A block that reaches the limit is cut there, and not searched for a stop token."""
    if len(text) + len(new) >= limit:
        return [*text, *new][:limit], True
    return in_order(text, new, drafted, stop, limit)


def drafted_stop(text, new, drafted, stop, limit):
    """A drafted stop token ends the text, accepted or not."""
    text, ended = in_order(text, new, drafted, stop, limit)
    return text, ended or bool(stop & set(drafted))


def whole_block(text, new, drafted, stop, limit):
    """The limit is looked at between cycles, and nothing is cut."""
    text, ended = in_order(text, new, drafted, stop, limit=None)
    return text, ended or len(text) >= limit


def decoder_by(law_of_row=filtered, keep=path_rows, take=in_order):
    """The match walk in a loop, with a list of tokens for the cache."""

    def decoder(model, drafter, prompt, max_new_tokens, stop, sampling, *, dice):
        cached, root, text, ended = list(prompt[:-1]), prompt[-1], [], False
        while not ended:
            tokens, parents, _ = drafter([*prompt, *text])
            path, new, below = [0], [], [0]
            while below:
                ids = [*cached, root, *new]
                below = [node for node in range(len(tokens)) if parents[node] == path[-1]]
                law = law_of_row(model(ids)[-1], sampling, not below)
                new.append(dice.categorical(law, ("target", len(text) + len(new))))
                below = [node for node in below if tokens[node] == new[-1]]
                path += below[:1]
            cached, root = keep(cached, tokens, path), new[-1]
            text, ended = take(text, new, tokens[1:].tolist(), stop, max_new_tokens)
        return text

    return decoder


def decoding(where, limit, prompt=(0,), stop=(), temperature=1.0, **filters):
    """What a decoder is told."""
    return Decoding(where, prompt, limit, frozenset(stop), SamplingConfig(temperature, **filters), sampled=False)


PLAIN = pair(P, Q)  # every draft is token 1
MORE = after(1, chances=".15 .09 .06")  # the bonus behind an accepted draft
# Behind the prompt 0 comes the second law; behind 0 and one token more, 0, 1 or 2, the third, third or second.
LAWS = world(THREE_LAWS)

FAULTS = (
    Faulty(
        "A6",
        "only the row of the bonus is filtered",
        "loop",
        "vllm-project/vllm #42744, sgl-project/sglang #10617",
        decoder_by(law_of_row=filtered_last),
        decoding(PLAIN, 1, top_k=2),
        first(".5", ".3", ".2"),
    ),
    Faulty(
        "r67",
        "ties with the last of the top k stay",
        "loop",
        "feifeibear/LLMSpeculativeSampling keeps them, lucidrains/speculative-decoding does not",
        decoder_by(law_of_row=with_ties),
        decoding(pair(law_of(2, 2, 1), Q), 1, top_k=1),
        first(".5", ".5", "0"),
    ),
    Faulty(
        "hot",
        "any temperature above 0 is taken for 1",
        "loop",
        "beginner: temperature is a switch between greedy and sampled",
        decoder_by(law_of_row=as_at_one),
        decoding(PLAIN, 1, temperature=0.5),
        first(".5", ".3", ".2"),
        "by hand: p, where its squares as 25, 9, 4 should be",
    ),
    Faulty(
        "wide",
        "top_p is ignored",
        "loop",
        "beginner: a decoder that knows temperature and top_k only",
        decoder_by(law_of_row=without_top_p),
        decoding(PLAIN, 1, top_p=0.75),
        first(".5", ".3", ".2"),
        "by hand: p, where 5/8, 3/8 and 0 should be",
    ),
    Faulty(
        "r40",
        "the cache is trimmed by one row too many",
        "loop",
        "lablup/mlxcel #994",
        decoder_by(keep=one_too_few),
        decoding(LAWS, 2, prompt=(1, 0)),
        after(2, chances=".1 .06 .04"),
        "by hand: 2 comes with .2; then 1, 2 is read, whose law is the first, instead of 1, 0, 2, the third",
    ),
    Faulty(
        "r44",
        "a rejected row stays in the cache",
        "loop",
        "lablup/mlxcel #994; recurrent states: vllm-project/vllm #39273, ml-explore/mlx-lm PR #1109",
        decoder_by(keep=one_too_many),
        decoding(LAWS, 2),
        after(0, chances=".1 .06 .04"),
        "by hand: 0 comes with .2; then 0, 1, 0 is read, whose law is the first, instead of 0, 0, the third",
    ),
    Faulty(
        "r41",
        "the cache is cleared instead of rolled back",
        "loop",
        "paiml/aprender PR #2014",
        decoder_by(keep=nothing),
        decoding(LAWS, 2),
        after(0, chances=".04 .04 .12") | after(2, chances=".3 .18 .12"),
        "by hand: 0 comes with .2 and 2 with .6; then 0 alone is read, the second law, or 2 alone, the first",
    ),
    Faulty(
        "first-rows",
        "the first rows are kept instead of the accepted path",
        "loop",
        "classic: right for chains, wrong for trees",
        decoder_by(keep=first_rows),
        decoding(world(THREE_LAWS, SIBLINGS), 3),
        after(2, 0, chances=".06 .036 .024"),
        "by hand: 2 and 0 come with .6 * .2; then 0, 1, 0 is read, the first law, instead of 0, 2, 0, the third",
    ),
    Faulty(
        "r51",
        "a stop token inside a block is missed",
        "loop",
        "huggingface/transformers #47912; SafeAILab/EAGLE #75",
        decoder_by(take=stop_at_the_end),
        decoding(PLAIN, 2, stop={1}),
        MORE,
        "by hand: p(1) p, where nothing should follow 1",
    ),
    Faulty(
        "r52",
        "a block that reaches the limit is not searched for a stop token",
        "loop",
        "sgl-project/sglang #31599, PR #33758",
        decoder_by(take=limit_first),
        decoding(PLAIN, 2, stop={1}),
        MORE,
        "by hand: p(1) p, where nothing should follow 1",
    ),
    Faulty(
        "r54",
        "a drafted stop token ends the text",
        "loop",
        "LostRuins/koboldcpp #1276; openvinotoolkit/openvino.genai PR #3293",
        decoder_by(take=drafted_stop),
        decoding(PLAIN, 2, stop={1}),
        {(0, END): P[0], (1, END): P[1], (2, END): P[2]},
        "by hand: 1 is always drafted, so every text ends with its first token",
    ),
    Faulty(
        "r56",
        "the last block is kept beyond the limit",
        "loop",
        "SafeAILab/EAGLE `eagenerate`; panbanda/higgs PR #204",
        decoder_by(take=whole_block),
        decoding(PLAIN, 1),
        MORE,
        "by hand: p(1) p, where nothing should follow 1",
    ),
)

CONTROLS = (Faulty("loop", "the match walk in a loop", "loop", "mlx-lm", decoder_by(), decoding(LAWS, 3, stop={2})),)
