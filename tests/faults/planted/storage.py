"""Faults in tokenizer and checkpoints."""

from fault import Fault

TOKENIZER, CHECKPOINT = "eagle_min.tokenizer", "eagle_min.checkpoint"
IN_TOKENIZER, IN_CHECKPOINT = "tests/network/test_tokenizer.py::", "tests/network/test_checkpoint.py::"
MERGE = """    for token in ids:
        if merged and (merged[-1], token) == pair:
            merged[-1] = new_id
        else:
            merged.append(token)
    return merged"""

FAULTS = (
    Fault(
        "text that spells a special token becomes one",
        TOKENIZER,
        "self.encoding.encode_ordinary(text)",
        'self.encoding.encode(text, allowed_special="all")',
        IN_TOKENIZER + "test_names_of_special_tokens_are_plain_text",
        "beginner: a prompt that ends the text it stands in",
    ),
    Fault(
        "pair counts are not taken back after a merge",
        TOKENIZER,
        "pairs[pair] -= count",
        "pass",
        IN_TOKENIZER + "test_learned_merges_equal_the_slow_ones",
        "beginner",
    ),
    Fault(
        "merges of the learner run from the right",
        TOKENIZER,
        MERGE,
        MERGE.replace("in ids", "in reversed(ids)").replace("(merged[-1], token)", "(token, merged[-1])") + "[::-1]",
        IN_TOKENIZER + "test_merge_joins_from_the_left",
        "beginner: three in a row joined another way than when encoding",
    ),
    Fault(
        "ranks are sorted by their bytes",
        TOKENIZER,
        "sorted(ranks, key=ranks.__getitem__)",
        "sorted(ranks)",
        IN_TOKENIZER + "test_vocabulary_survives_its_file",
        "beginner",
    ),
    Fault(
        "changed weights are loaded",
        CHECKPOINT,
        "hexdigest() != digest",
        "hexdigest() == ''",
        IN_CHECKPOINT + "test_one_changed_byte_is_refused",
        "beginner: the hash is written and never compared",
    ),
    Fault(
        "head of another target is loaded",
        CHECKPOINT,
        'card.get("target_sha256") != wanted',
        "False",
        IN_CHECKPOINT + "test_a_head_for_another_target_is_refused",
        "a head with the wrong target drafts nonsense, and the text stays right: nothing else tells",
    ),
    Fault(
        "file is written in place",
        "eagle_min.files",
        "tempfile.mkstemp(dir=path.parent, prefix=path.name)",
        "os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), path",
        IN_CHECKPOINT + "test_a_writer_that_fails_leaves_the_old_file",
        "beginner: a run killed while saving leaves half a file",
    ),
    Fault(
        "temporary file is left behind",
        "eagle_min.files",
        "Path(temporary).unlink(missing_ok=True)",
        "pass",
        IN_CHECKPOINT + "test_a_writer_that_fails_leaves_the_old_file",
        "beginner",
    ),
)
