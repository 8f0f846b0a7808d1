"""Faults in multi-token prediction modules: which state, token and law meet, and which rows are seen."""

from fault import Fault

DRAFTER, TRAIN = "eagle_min.drafters.mtp", "eagle_min.train.rivals.mtp"
IN = "tests/drafters/test_mtp.py::"
ORACLE = IN + "test_each_depth_equals_the_slow_oracle"
TREE = IN + "test_a_tree_row_equals_its_path_run_alone"
PIECES = IN + "test_what_is_known_of_a_text_does_not_depend_on_the_pieces_it_came_in"
LOSS = IN + "test_the_loss_is_the_mean_over_depths_of_the_cross_entropy_with_the_targets_laws"

FAULTS = (
    Fault(
        "merging reads the embedding first",
        DRAFTER,
        "[self.state_norm(states), self.token_norm(embedded)]",
        "[self.token_norm(embedded), self.state_norm(states)]",
        ORACLE,
        "released checkpoints against the paper's equation: the halves of one matrix",
    ),
    Fault(
        "the next module reads the normed state",
        DRAFTER,
        "yield module.norm(states)",
        "states = module.norm(states)\n            yield states",
        ORACLE,
        "serving engines differ: which hidden state goes on",
    ),
    Fault(
        "later modules do not lag behind",
        DRAFTER,
        "return known[:-1]",
        "return new",
        PIECES,
        "beginner: a token meets the state at the token itself",
    ),
    Fault(
        "modules below get no rows of the levels above them",
        DRAFTER,
        "for place in range(min(level, last), last + 1):",
        "for place in [min(level, last)]:",
        TREE,
        "beginner: right for two modules, wrong for three",
    ),
    Fault(
        "tree rows of a later module are not dropped",
        DRAFTER,
        "self.cache.truncate(self.num_true)",
        "self.cache.truncate(self.num_true if self.k == 1 else self.cache.length)",
        IN + "test_growing_leaves_the_caches_as_they_were_and_fits_up_to_the_end_of_the_context",
        "classic: draft state not rolled back; the law is kept, tau falls",
    ),
    Fault(
        "draft rows are one position ahead",
        DRAFTER,
        "self.last_position + level)",
        "self.last_position + level + 1)",
        TREE,
        "sgl-project/sglang PR #25015: the law is kept, acceptance falls",
    ),
    Fault(
        "depths are trained apart",
        DRAFTER,
        "states = module(states[..., : length - k, :],",
        "states = module(states[..., : length - k, :].detach(),",
        IN + "test_a_later_depth_teaches_the_modules_before_it",
        "beginner: the causal chain is cut for gradients",
    ),
    Fault(
        "all depths learn the law of the first",
        TRAIN,
        "taught.laws[:, k:]",
        "taught.laws[:, 1 : taught.laws.shape[1] - k + 1]",
        LOSS,
        "beginner",
    ),
)
