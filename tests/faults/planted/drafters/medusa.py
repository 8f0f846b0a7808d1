"""Faults in Medusa's heads, in the choice of their tree, and in what is said of typical acceptance."""

from fault import Fault

DRAFTER, TRAINING = "eagle_min.drafters.medusa", "eagle_min.train.rivals.medusa"
TYPICAL = "eagle_min.exactness.acceptance.typical"
IN_MEDUSA, IN_TYPICAL = "tests/drafters/test_medusa.py::", "tests/lab/test_typical.py::"
TREE = IN_MEDUSA + "test_the_tree_is_the_product_of_the_heads_at_the_last_feature"
LOSS = IN_MEDUSA + "test_the_loss_compares_head_k_with_the_law_k_rows_later"

FAULTS = (
    Fault(
        "every level of Medusa's tree is drafted by its first head",
        DRAFTER,
        "len(path_to(parents, node)) - 1",
        "0",
        TREE,
        "beginner",
    ),
    Fault(
        "Medusa drafts from the last row read and not from the last kept",
        DRAFTER,
        "reading.features[reading.path[-1]]",
        "reading.features[-1]",
        IN_MEDUSA + "test_after_a_cycle_the_feature_is_that_of_the_last_token_accepted",
        "classic: right for chains that are all accepted",
    ),
    Fault(
        "a Medusa head has no residual",
        DRAFTER,
        "features + F.silu(self.residual(features))",
        "F.silu(self.residual(features))",
        TREE,
        "beginner: starts from nothing instead of from the target's LM head",
    ),
    Fault(
        "limits without paths give Medusa the shape of EAGLE-1's tree",
        DRAFTER,
        "paths=tree.paths or network.paths",
        "paths=tree.paths or TreeConfig.paths",
        TREE,
        "beginner: what training chose is not used",
    ),
    Fault(
        "Medusa's first head learns what the target says anyway",
        TRAINING,
        "enumerate(heads(taught.features), 1):  # (B, L, V)",
        "enumerate(heads(taught.features[:, 1:]), 1):  # (B, L, V)",
        LOSS,
        "classic: labels shifted by one",
    ),
    Fault(
        "Medusa's heads all count the same",
        TRAINING,
        "loss + DECAY**k * F",
        "loss + F",
        LOSS,
        "beginner",
    ),
    Fault(
        "accuracies of Medusa's heads are measured one row too early",
        TRAINING,
        "greedy[:, k:, None]",
        "greedy[:, k - 1 : -1, None]",
        IN_MEDUSA + "test_accuracies_are_shares_of_the_targets_greedy_tokens",
        "classic: labels shifted by one",
    ),
    Fault(
        "a path counts only the accuracy of its last head",
        TRAINING,
        "value[path[:-1]] * float(",
        "float(",
        IN_MEDUSA + "test_the_shape_is_the_best_of_its_size",
        "beginner",
    ),
    Fault(
        "ranks of Medusa's tree have gaps",
        TRAINING,
        'open_paths = {"0"}',
        'open_paths = {"0", "2"}',
        IN_MEDUSA + "test_a_shape_is_one_even_where_a_worse_rank_is_right_more_often",
        "a tree that is filled rank by rank drafts other tokens than were measured",
    ),
    Fault(
        "typical acceptance goes on below a refused draft",
        TYPICAL,
        "        if node in taken:\n",
        "        if True:\n",
        IN_TYPICAL + "test_the_numbers_accepted_are_what_enumeration_gives",
        "beginner: a product over the path is forgotten",
    ),
    Fault(
        "of equally long paths typical acceptance takes the first",
        TYPICAL,
        "(level[node], mass[node])",
        "level[node]",
        IN_TYPICAL + "test_the_law_of_the_first_token_is_what_enumeration_gives",
        "another rule than the one that is published",
    ),
    Fault(
        "the target's law of a cycle is that of its last token",
        TYPICAL,
        "reach(tree, laws)[path[-1]] * law",
        "law",
        IN_TYPICAL + "test_the_error_of_a_cycle_is_what_enumeration_gives",
        "common: typical acceptance with a drawn bonus looks lossless",
    ),
)
