"""What is shipped: the entries at the top, how large the models are, and nothing that was only generated."""

from house import ROOT, tracked_files


def test_visible_entries_at_the_top():
    allowed = {"README.md", "requirements.txt", "eagle_min", "tutorials", "tests", "tinymodels"}
    top = {name.split("/")[0] for name in tracked_files()}
    assert {name for name in top if not name.startswith(".")} <= allowed
    assert "eagle_min" in top


def test_tinymodels_stay_small():
    """Weights, cards, ranks, prompts, results: under 30 MB together."""
    sizes = {name: (ROOT / name).stat().st_size for name in tracked_files() if name.startswith("tinymodels/")}
    assert 0 < sum(sizes.values()) < 30_000_000


def test_no_caches_or_byte_code_are_tracked():
    assert [name for name in tracked_files() if name.endswith((".pyc", ".npy", ".pkl")) or "__pycache__" in name] == []
