"""Faults in the walks over a tree that is a function of the context."""

from fault import Fault

MODULE = "eagle_min.verify"
TESTS = "tests/same_law/test_verify.py::"
PROPERTY = "tests/same_law/test_eight_properties.py::"
LAW = PROPERTY + "test_match_walk_emits_the_target_law_for_any_tree"
SAME_PATHS = PROPERTY + "test_match_walk_and_rejection_walk_have_one_path_law"
PLAIN_TEXT = TESTS + "test_the_match_walk_gives_the_text_of_plain_decoding_from_the_same_seed"

TOKEN = "token = dice.categorical(law_at(node), target_draw(position + depth))"
COIN = "dice.accept(weights[token] / weights.sum(), coin(cycle, child))"
LAST_DRAW = "dice.categorical(weights, name)"
WEIGHTS = "weights = law_at(node).copy()"

FAULTS = (
    Fault(
        "match walk reads the parent's row",
        MODULE,
        TOKEN,
        "token = dice.categorical(law_at(path[max(depth - 1, 0)]), target_draw(position + depth))",
        LAW,
        "classic off by one in the logits; ohdearquant/lattice #243",
    ),
    Fault(
        "match walk reads the root's row everywhere",
        MODULE,
        TOKEN,
        "token = dice.categorical(law_at(0), target_draw(position + depth))",
        LAW,
        "beginner: the law of the first token alone is right",
    ),
    Fault(
        "match walk names its draws by node",
        MODULE,
        "target_draw(position + depth)",
        "target_draw(position + node)",
        (PLAIN_TEXT, "tests/same_law/test_same_text.py::test_same_text_on_tables"),
        "same law, other text: two sources of randomness (EAGLE's utils)",
    ),
    Fault(
        "match walk names its draws one position on",
        MODULE,
        "target_draw(position + depth)",
        "target_draw(position + depth + 1)",
        PLAIN_TEXT,
        "beginner",
    ),
    Fault(
        "draws of the target come from another source",
        MODULE,
        TOKEN,
        "token = int(np.random.default_rng(position + depth).choice(len(law_at(node)), p=law_at(node).astype(float)))",
        LAW,
        "EAGLE's utils: `random` for the coins and `torch` for the tokens",
    ),
    Fault(
        "sampling falls back to the first maximum",
        MODULE,
        TOKEN,
        "token = int(np.argmax(law_at(node)))",
        LAW,
        "sgl-project/sglang PR #31214, #39253: the verifier decodes greedily on some devices",
    ),
    Fault(
        "first draft token is never tested",
        MODULE,
        "if tree.tokens[child] == token]",
        "if tree.tokens[child] == token or child == 1]",
        LAW,
        "ohdearquant/lattice #243; openvinotoolkit/openvino.genai PR #2331",
    ),
    Fault(
        "bonus is dropped when a whole branch is accepted",
        MODULE,
        "        node, depth = path[-1], len(path) - 1",
        "        node, depth = path[-1], len(path) - 1\n"
        "        if depth and not below[node]:\n"
        "            return Verification(path[:-1], tree.tokens[node])",
        TESTS + "test_a_child_is_accepted_with_the_target_mass_of_the_child_set",
        "loops after gpt-fast: the law is right, a token a cycle is lost",
    ),
    Fault(
        "draft probability divides where nothing was drawn",
        MODULE,
        COIN,
        "dice.accept(min(1, weights[token] / weights.sum() / np.exp(tree.log_confidence[child] - "
        "tree.log_confidence[node])), coin(cycle, child))",
        LAW,
        "SafeAILab/EAGLE #110, #221: p/q acceptance on deterministic top-k drafts",
    ),
    Fault(
        "refused token keeps its mass",
        MODULE,
        "weights[token] = 0",
        "pass",
        SAME_PATHS,
        "beginner; catalogue case C1",
    ),
    Fault(
        "no renormalising between siblings",
        MODULE,
        COIN,
        "dice.accept(weights[token], coin(cycle, child))",
        SAME_PATHS,
        "beginner: later siblings are judged by the old law",
    ),
    Fault(
        "after total refusal the bonus is drawn from p",
        MODULE,
        LAST_DRAW,
        "dice.categorical(law_at(node), name)",
        LAW,
        "beginner; catalogue case A1",
    ),
    Fault(
        "walk does not stop at the accepted sibling",
        MODULE,
        "if dice.accept(weights[token] / weights.sum(), coin(cycle, child)):\n"
        "                path.append(child)\n"
        "                break",
        "if dice.accept(weights[token] / weights.sum(), coin(cycle, child)):\n                path.append(child)",
        LAW,
        "antonellof/ferrox #307: the loop goes on where it should stop",
    ),
    Fault(
        "stale bonus after a later sibling was accepted",
        MODULE,
        WEIGHTS,
        "leaf = bool(node) and not below[node] and node != below[tree.parents[node]][0]\n"
        "        weights = weights if leaf else law_at(node).copy()",
        LAW,
        "SafeAILab/EAGLE batched `modeling_eagle.py`: flag `adjusted` kept; catalogue case C11",
    ),
    Fault(
        "target's law is changed in place",
        MODULE,
        WEIGHTS,
        "weights = law_at(node)",
        TESTS + "test_only_the_nodes_on_the_path_are_asked_and_their_laws_are_left_alone",
        "beginner",
    ),
    Fault(
        "coin of the parent decides about all its children",
        MODULE,
        COIN,
        "dice.accept(weights[token] / weights.sum(), coin(cycle, node))",
        SAME_PATHS,
        "one coin for two decisions; SGLang's running-sum test is right only because it sums",
    ),
)
