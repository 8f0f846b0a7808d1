"""Faults in training: what is paired, what is wanted, what a step sees, and what must not change."""

from .fault import Fault

MODULE = "eagle_min.train.head"
LOSS = "tests/test_head_training.py::test_the_loss_compares_each_guess_with_the_next_feature_and_its_law"
STEPS = "tests/test_head.py::test_a_training_time_step_equals_a_chain_drafted_from_each_row"
FROZEN = "tests/test_head.py::test_training_a_head_changes_the_head_and_nothing_of_the_target"

FAULTS = (
    Fault(
        "training pairs a feature with its own token",
        MODULE,
        "target.embed(windows[:, 1:])",
        "target.embed(windows[:, :-1])",
        LOSS,
        "EAGLE's central point; argued over in vllm-project/vllm PR #6830",
    ),
    Fault(
        "wanted feature is the one given",
        MODULE,
        "wanted = slice(1 + step, 1 + step + num_rows)",
        "wanted = slice(step, step + num_rows)",
        LOSS,
        "beginner: the loss falls at once to nothing",
    ),
    Fault(
        "later steps keep the first step's tokens",
        MODULE,
        "embedded[:, step : step + num_rows]",
        "embedded[:, :num_rows]",
        STEPS,
        "sgl-project/SpecForge PR #244",
    ),
    Fault(
        "later steps keep the first step's positions",
        MODULE,
        "torch.arange(step, step + num_rows)",
        "torch.arange(num_rows)",
        STEPS,
        "SafeAILab/EAGLE PR #299, sgl-project/SpecForge PR #245: missing shift of positions",
    ),
    Fault(
        "later steps see the future",
        MODULE,
        "dtype=torch.bool, device=q.device).triu(1)",
        "dtype=torch.bool, device=q.device).triu(2)",
        STEPS,
        "SafeAILab/EAGLE PR #299: unneeded shift of the mask",
    ),
    Fault(
        "later steps read the true values again",
        MODULE,
        "mixed = mixed + weights[..., q.shape[-2] + i, None] * own_v",
        "mixed = mixed + weights[..., q.shape[-2] + i, None] * true_v",
        STEPS,
        "SafeAILab/EAGLE PR #299 family",
    ),
    Fault(
        "soft targets are the guesses' own law",
        MODULE,
        "laws[:, wanted].flatten(0, 1)",
        "target.lm_head(guesses).softmax(dim=-1).flatten(0, 1)",
        LOSS,
        "beginner: the loss is an entropy",
    ),
    Fault(
        "LM head is trained along",
        MODULE,
        "head = new_head(target, train.seed, **shape)",
        "head = new_head(target, train.seed, **shape)\n    head.lm_head = target.lm_head.requires_grad_(True)",
        FROZEN,
        "common: the shared LM head or embedding among the draft's parameters",
    ),
    Fault(
        "trained in one unit of the embedding, used in another",
        MODULE,
        "    louder(head, factor)\n    return head, run",
        "    return head, run",
        "tests/test_head.py::test_training_that_takes_no_step_gives_the_head_it_began_with",
        "beginner: a scale of the training that decoding does not know",
    ),
    Fault(
        "windows begin anywhere in a document",
        "eagle_min.train.batches",
        "start = behind + int(begins[-1]) if len(begins) else start",
        "pass",
        "tests/test_train.py::test_a_window_close_behind_the_beginning_of_a_document_begins_with_it",
        "beginner: a prompt is a document from END on, which training never showed",
    ),
)
