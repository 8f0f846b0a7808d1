"""Faults in the separate draft model: what it reads, where it reads it, and what it learns from."""

from fault import Fault

DRAFTER, TRAINING = "eagle_min.drafters.small_model", "eagle_min.train.rivals.small_model"
IN_TESTS = "tests/drafters/test_small_model.py::"
ORACLE = IN_TESTS + "test_a_draft_below_the_root_equals_the_slow_oracle"
TREE_ROWS = IN_TESTS + "test_a_tree_row_equals_its_path_read_alone"
LOSS = IN_TESTS + "test_the_loss_is_the_cross_entropy_with_the_targets_laws_after_every_token"

FAULTS = (
    Fault(
        "a small model never reads the first token",
        DRAFTER,
        "        session.read(None, prompt_ids[:1])\n",
        "",
        ORACLE,
        "a session made for EAGLE's heads, which have no row for it: all positions are one too small",
    ),
    Fault(
        "a small model reads the prompt at the start and once more with its features",
        DRAFTER,
        "prompt_ids[:1]",
        "prompt_ids",
        ORACLE,
        "beginner: the law is kept, acceptance falls",
    ),
    Fault(
        "a small model does not see which branch its tokens are on",
        DRAFTER,
        "tokens, positions, mask, cache)",
        "tokens, positions, None, cache)",
        TREE_ROWS,
        "classic of tree attention: right for chains",
    ),
    Fault(
        "a small model's LM head reads what its last block made, not normed",
        DRAFTER,
        "self.network.features(tokens, positions, mask, cache)",
        "self.network.residual_streams(tokens, positions, mask, cache)[-1]",
        ORACLE,
        "an EAGLE head has no final norm; a GPT has one",
    ),
    Fault(
        "a small model's cache has no room for a tree behind a long text",
        DRAFTER,
        "config.context + num_spare",
        "config.context",
        IN_TESTS + "test_growing_leaves_the_cache_as_it_was_and_fits_up_to_the_end_of_the_context",
        "classic: fails at the end of the context only",
    ),
    Fault(
        "a sampled chain of a small model is a row of siblings",
        DRAFTER,
        'tuple("0" * level for level in range(1, length + 1))',
        "tuple(str(level - 1) for level in range(1, length + 1))",
        IN_TESTS + "test_a_chain_has_one_child_a_node_and_as_many_levels_as_its_limits_say",
        "beginner: the law is kept",
    ),
    Fault(
        "a small model learns the law after the token before",
        TRAINING,
        "logits.flatten(0, 1), taught.laws.flatten(0, 1)",
        "logits[:, 1:].flatten(0, 1), taught.laws[:, :-1].flatten(0, 1)",
        LOSS,
        "classic off by one: labels shifted twice or not at all",
    ),
    Fault(
        "a small model learns the target's best tokens and not its laws",
        TRAINING,
        "taught.laws.flatten(0, 1)",
        "taught.laws.argmax(-1).flatten(0, 1)",
        LOSS,
        "sequence-level distillation taken for DistillSpec's",
    ),
    Fault(
        "a small model shares the target's embedding and LM head",
        TRAINING,
        "own.weight.copy_(given.weight)",
        "own.weight = given.weight",
        IN_TESTS + "test_training_changes_all_of_it_and_nothing_of_the_target",
        "beginner: a copy that is none, frozen with the target or, worse, trained with the draft",
    ),
)
