"""Faults in cache, model and head: rows, masks, positions, and what a feature is paired with."""

from fault import Fault

CACHE, MODEL, HEAD = "eagle_min.cache", "eagle_min.model", "eagle_min.head"
MACHINE = "tests/network/test_cache.py::TestCacheMachine"
FRESH = "tests/network/test_cache.py::test_after_each_cycle_both_caches_equal_those_of_a_fresh_prefill"
IN_MODEL, IN_HEAD = "tests/network/test_model.py::", "tests/network/test_head.py::"
TREE_ROWS = "tests/same_law/test_eight_properties.py::test_logits_at_a_node_are_those_of_its_path_alone"
ORACLE = IN_MODEL + "test_forward_equals_the_slow_oracle"
HEAD_ORACLE = IN_HEAD + "test_draft_below_the_root_equals_the_slow_oracle"
HEAD_TREE = IN_HEAD + "test_a_tree_row_equals_its_path_run_alone_on_the_heads_own_features"

MOVE = "self.rows[:, :, :, start:end] = self.rows[:, :, :, index]"
MASK_ROW = "mask[i, [self.before + row for row in self.paths[node]]] = True"

FAULTS = (
    Fault(
        "cache keeps the first rows instead of the accepted ones",
        CACHE,
        "index = torch.tensor(rows, device=self.rows.device) + start",
        "index = torch.arange(len(rows), device=self.rows.device) + start",
        MACHINE,
        "classic: right for chains, wrong for trees",
    ),
    Fault(
        "cache rows are selected and not stored",
        CACHE,
        MOVE,
        "self.rows[:, :, :, index]",
        MACHINE,
        "lucidrains/speculative-decoding: a slice computed and dropped",
    ),
    Fault(
        "only the first layer's rows are moved",
        CACHE,
        MOVE,
        "self.rows[:, :1, :, start:end] = self.rows[:, :1, :, index]",
        MACHINE,
        "ml-explore/mlx-swift-lm PR #173: only the first layer was trimmed",
    ),
    Fault(
        "only keys are moved",
        CACHE,
        MOVE,
        "self.rows[0, :, :, start:end] = self.rows[0, :, :, index]",
        MACHINE,
        "beginner",
    ),
    Fault(
        "cache keeps one row too many",
        CACHE,
        "        self.length = end\n",
        "        self.length = end + 1\n",
        MACHINE,
        "lablup/mlxcel #994: trim off by one",
    ),
    Fault(
        "cache is cleared instead of rolled back",
        CACHE,
        "        self.length = end\n",
        "        self.length = len(rows)\n",
        MACHINE,
        "paiml/aprender PR #2014",
    ),
    Fault(
        "truncating forgets nothing",
        CACHE,
        "        self.length = length\n",
        "        pass\n",
        MACHINE,
        "lucidrains/speculative-decoding #3; romsto/Speculative-Decoding #1",
    ),
    Fault(
        "causal triangle starts at 0 behind a cache",
        MODEL,
        "full.tril(cache.length)",
        "full.tril(0)",
        IN_MODEL + "test_chunked_prefill_equals_the_whole",
        "deepseek-ai/DeepSeek-V3 PR #1536: the mask assumed that nothing was cached",
    ),
    Fault(
        "rotary positions are places in the block",
        MODEL,
        "rotation = self.rotary(positions)",
        "rotation = self.rotary(torch.arange(len(positions)) + positions.min())",
        TREE_ROWS,
        "lablup/mlxcel PR #1214",
    ),
    Fault(
        "rotation turns the other way",
        MODEL,
        "torch.cat([-sin, sin], -1)",
        "torch.cat([sin, -sin], -1)",
        ORACLE,
        "beginner: relative distances survive, foreign weights do not",
    ),
    Fault(
        "tree mask is not handed on",
        MODEL,
        "if mask is not None and len(tokens) > 1:",
        "if False:",
        TREE_ROWS,
        "beginner: the flattened tree is read as a sentence",
    ),
    Fault(
        "tree does not see the cached text",
        MODEL,
        "torch.ones(len(tokens), self.length + len(tokens), dtype=torch.bool)",
        "torch.zeros(len(tokens), self.length + len(tokens), dtype=torch.bool)",
        TREE_ROWS,
        "deepseek-ai/DeepSeek-V3 PR #1536 family: causal offset",
    ),
    Fault(
        "features are taken before the final norm",
        MODEL,
        "return self.norm(self.residual_streams(ids, positions, mask, cache)[-1])",
        "return self.residual_streams(ids, positions, mask, cache)[-1]",
        ORACLE,
        "EAGLE-1 against EAGLE-3: which vector is the feature",
    ),
    Fault(
        "features come first in the concatenation",
        HEAD,
        "torch.cat([embedded, features], dim=-1)",
        "torch.cat([features, embedded], dim=-1)",
        HEAD_ORACLE,
        "the paper's figure against the official code's order",
    ),
    Fault(
        "head's layer has an input norm",
        HEAD,
        "input_norm=False",
        "input_norm=True",
        HEAD_ORACLE,
        "EAGLE-1 heads have none; serving engines differ",
    ),
    Fault(
        "draft steps are one position ahead",
        HEAD,
        "self.before + len(self.rows.paths[node]) - 1",
        "self.before + len(self.rows.paths[node])",
        HEAD_TREE,
        "sgl-project/sglang PR #25015: the law is kept, acceptance falls",
    ),
    Fault(
        "tree rows of the head see their siblings",
        HEAD,
        MASK_ROW,
        MASK_ROW + "\n            mask[i, self.before :] = True",
        HEAD_TREE,
        "classic of tree attention, on the draft's side",
    ),
    Fault(
        "every tree row starts from the root's guess",
        HEAD,
        "self.states[self.rows.own(parents)]",
        "self.states[[0 for parent in parents]]",
        HEAD_TREE,
        "NVIDIA/TensorRT-LLM PR #12962 family: hidden states of the wrong parents",
    ),
    Fault(
        "head's tree rows stay in its cache",
        HEAD,
        "self.cache.truncate(expansion.before + 1)",
        "pass",
        FRESH,
        "classic: draft state not rolled back; the law is kept, tau falls",
    ),
    Fault(
        "next tree starts from the first row learned",
        HEAD,
        "positions, None, self.cache)[-1:]",
        "positions, None, self.cache)[:1]",
        HEAD_TREE,
        "vllm-project/vllm #4212: the draft goes on from another token than the bonus",
    ),
    Fault(
        "sequences share one draft cache",
        HEAD,
        "return TreeSession(self)",
        'self.session = getattr(self, "session", None) or TreeSession(self)\n        return self.session',
        IN_HEAD + "test_texts_decoded_in_turn_by_one_drafter_do_not_mix",
        "sgl-project/sglang #8726: a repeated prompt drafts from the wrong state",
    ),
)
