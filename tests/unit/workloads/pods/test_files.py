"""Files of a job as ConfigMap data."""

from tensorplane.workloads.pods import files as pods_files
from tensorplane.workloads.pods import sources
from tensorplane.workloads.pods.checks import LIMIT_BYTES


def test_bytes_that_are_not_text_travel_as_base64() -> None:
    bundle = pods_files.bundle("x", {"pkg/a.py": "é = 1".encode(), "b.gz": b"\x1f\x8b\xff"})
    assert bundle.data() == ({"1.a.py": "é = 1"}, {"0.b.gz": "H4v/"})
    assert bundle.items == [{"key": "0.b.gz", "path": "b.gz"}, {"key": "1.a.py", "path": "pkg/a.py"}]


def test_another_content_or_path_is_another_name() -> None:
    names = {
        pods_files.bundle("x", {"a": b"1"}).name,
        pods_files.bundle("x", {"b": b"1"}).name,
        pods_files.bundle("x", {"a": b"2"}).name,
        pods_files.bundle("x", {"a": b"1", "b": b"2"}).name,
    }
    assert len(names) == 4


def test_the_order_of_the_settings_is_not_in_the_name() -> None:
    assert pods_files.bundle("x", {"a": b"1", "b": b"2"}) == pods_files.bundle("x", {"b": b"2", "a": b"1"})


def test_the_digits_are_the_ones_that_scikit_learn_ships() -> None:
    path = sources.located("package:sklearn/datasets/data/digits.csv.gz")
    assert path.is_file()
    assert 10_000 < path.stat().st_size < LIMIT_BYTES
