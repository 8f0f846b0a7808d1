"""Faults in the decoding loop: which rows, which positions, what is learned, and when it ends."""

from fault import Fault

MODULE = "eagle_min.decode"
IN_DECODE = "tests/same_law/test_decode.py::"
ENDS = IN_DECODE + "test_ends_of_a_text"
CUT = IN_DECODE + "test_a_text_is_the_unlimited_one_cut_by_the_stopping_rule"
LOOP = "tests/same_law/test_eight_properties.py::test_loop_over_trees_of_the_context_has_the_target_law"
PLAIN = "tests/same_law/test_law_of_the_loop.py::test_plain_decoding_has_the_target_law"
ENDING = IN_DECODE + "test_ending_takes_the_same_tokens_in_any_pieces"
FRESH = "tests/network/test_cache.py::test_after_each_cycle_both_caches_equal_those_of_a_fresh_prefill"

LAW_AT = "lambda node: next_token_law(rows[node], sampling)"
TAKE = "committed = ending.take(reading.following)"

FAULTS = (
    Fault(
        "feature is paired with its own token",
        MODULE,
        "[*prompt_ids[1:], root])\n",
        "[*prompt_ids])\n",
        FRESH,
        "EAGLE's central point; argued over in vllm-project/vllm PR #6830",
    ),
    Fault(
        "drafter learns another token than the bonus",
        MODULE,
        "(tree.tokens[node] for node in path[1:]), bonus]",
        "(tree.tokens[node] for node in path[1:]), root]",
        FRESH,
        "vllm-project/vllm #4212, PR #5765: the draft's cache goes on from the wrong token",
    ),
    Fault(
        "drafter learns the first rows instead of the accepted ones",
        MODULE,
        "Reading(features, rows, path,",
        "Reading(features, rows, list(range(len(path))),",
        FRESH,
        "classic: right for chains, wrong for trees",
    ),
    Fault(
        "target keeps the first rows instead of the accepted ones",
        MODULE,
        "session.keep(start, path)",
        "session.keep(start, range(len(path)))",
        LOOP,
        "classic: right for chains, wrong for trees",
    ),
    Fault(
        "target keeps one accepted row too few",
        MODULE,
        "session.keep(start, path)",
        "session.keep(start, path[:-1] or path)",
        LOOP,
        "lablup/mlxcel #994: trim off by one",
    ),
    Fault(
        "rejected rows stay in the target's cache",
        MODULE,
        "session.keep(start, path)",
        "session.keep(start, range(len(tree)))",
        LOOP,
        "lucidrains/speculative-decoding #3; romsto/Speculative-Decoding #1",
    ),
    Fault(
        "tree is read one position further on",
        MODULE,
        "[session.length + depth for depth in depths(tree.parents)]",
        "[session.length + depth + 1 for depth in depths(tree.parents)]",
        LOOP,
        "sgl-project/sglang PR #25015 family",
    ),
    Fault(
        "first token comes from the prompt's first row",
        MODULE,
        "root = dice.categorical(next_token_law(rows[-1], sampling)",
        "root = dice.categorical(next_token_law(rows[0], sampling)",
        LOOP,
        "beginner",
    ),
    Fault(
        "laws are those of the node before",
        MODULE,
        LAW_AT,
        "lambda node: next_token_law(rows[max(node - 1, 0)], sampling)",
        LOOP,
        "ohdearquant/lattice #243: row i compared with draft i + 1",
    ),
    Fault(
        "filters apply to the root's row only",
        MODULE,
        LAW_AT,
        "lambda node: next_token_law(rows[node], SamplingConfig(sampling.temperature) if node else sampling)",
        LOOP,
        "vllm-project/vllm #42744, sgl-project/sglang #10617",
    ),
    Fault(
        "temperature applies to plain decoding only",
        MODULE,
        LAW_AT,
        "lambda node: next_token_law(rows[node], SamplingConfig(1.0, sampling.top_k, sampling.top_p))",
        LOOP,
        "vllm-project/vllm PR #10198",
    ),
    Fault(
        "draws are named one position behind",
        MODULE,
        "dice, start + 1, number)",
        "dice, start, number)",
        LOOP,
        "one draw for two tokens; vllm-project/vllm-ascend PR #16370 family",
    ),
    Fault(
        "stop token inside an accepted run is missed",
        "eagle_min.ending",
        "if token in self.stop:",
        "if token in self.stop and place == len(taken) - 1:",
        ENDS,
        "huggingface/transformers #47912; SafeAILab/EAGLE #75",
    ),
    Fault(
        "drafted stop token ends the text",
        MODULE,
        TAKE,
        TAKE + '\n        ending.reason = "stop" if ending.stop & set(tree.tokens[1:]) else ending.reason',
        CUT,
        "openvinotoolkit/openvino.genai PR #3293: a drafted stop token decides nothing until accepted",
    ),
    Fault(
        "stop at the limit is reported as length",
        "eagle_min.ending",
        'self.reason = "stop"',
        'self.reason = "stop" if place + 1 < self.room else self.limit',
        ENDS,
        "sgl-project/sglang #31599: order of stop and limit",
    ),
    Fault(
        "stop beyond the limit wins",
        "eagle_min.ending",
        "if token in self.stop:",
        "if token in self.stop or self.stop & set(tokens[self.room :]):",
        ENDING,
        "sgl-project/sglang #31599: a stop token beyond the limit does not count",
    ),
    Fault(
        "last accepted run overshoots the limit",
        "eagle_min.ending",
        "taken = tuple(tokens[: self.room])",
        "taken = tuple(tokens)\n        self.room = max(self.room, len(taken))",
        ENDING,
        "SafeAILab/EAGLE `eagenerate` keeps the whole last run; panbanda/higgs PR #204",
    ),
    Fault(
        "draft is longer than the room",
        MODULE,
        "ending.room - 1  # the bonus",
        "ending.room + 1  # the bonus",
        LOOP,
        "turboderp-org/exllamav2 #274, vllm-project/vllm #57941: reads past the context's end",
    ),
    Fault(
        "draft deeper than the room is read",
        MODULE,
        "require(deepest <= depth, ",
        "require(True, ",
        IN_DECODE + "test_a_draft_deeper_than_the_room_is_refused",
        "vllm-project/vllm PR #24662, #58080: a drafter that ignores the end of the context",
    ),
    Fault(
        "prefill counts into tau",
        MODULE,
        "return tau(self.cycles[1:])",
        "return tau(self.cycles)",
        IN_DECODE + "test_cycles_add_up_to_the_text",
        "sgl-project/sglang #39826 family: counters that count something else",
    ),
    Fault(
        "accepted tokens that were cut off are counted",
        MODULE,
        "min(len(path) - 1, len(committed))",
        "len(path) - 1",
        IN_DECODE + "test_a_cycle_tells_which_tokens_were_drafted",
        "sgl-project/sglang #39826: statistics before truncation",
    ),
    Fault(
        "plain decoding draws at the wrong place",
        MODULE,
        "token = dice.categorical(next_token_law(rows[-1], sampling), target_draw(session.length))",
        "token = dice.categorical(next_token_law(rows[0], sampling), target_draw(session.length))",
        PLAIN,
        "beginner",
    ),
)
