"""Sources of `files` are looked up before anything is built."""

from pathlib import Path

import pytest

from tests.support.faults import dev, faults_of


class TestFiles:
    """Sources of `files` are looked up before anything is built."""

    def of(self, files: dict[str, str]) -> list[str]:
        tree = dev()
        tree["workloads"]["digits"]["files"] = files
        return [line.removeprefix("tensorplane:workloads.digits.") for line in faults_of(tree)]

    def test_missing(self) -> None:
        assert self.of({"train.py": "examples/digits/trian.py"}) == [
            "files.train.py: examples/digits/trian.py: no such file; correct the path, which is relative to the "
            "project (did you mean train.py?)"
        ]

    def test_missing_package(self) -> None:
        assert self.of({"x.csv": "package:sklaern/x.csv"}) == [
            "files.x.csv: package:sklaern/x.csv: no Python package 'sklaern' is installed"
        ]

    def test_missing_inside_a_package(self) -> None:
        assert self.of({"x.csv": "package:sklearn/datasets/data/digit.csv.gz"}) == [
            "files.x.csv: package:sklearn/datasets/data/digit.csv.gz: no such file; correct the path, which is "
            "relative to the project (did you mean digits.csv.gz?)"
        ]

    def test_outside_the_project(self) -> None:
        need = "use a file of the project (examples/digits/train.py) or of a Python package (package:NAME/data.csv)"
        assert self.of({"x": "/etc/passwd"}) == [f"files.x: invalid value '/etc/passwd'; {need}"]
        assert self.of({"x": "../x"}) == [f"files.x: invalid value '../x'; {need}"]

    def test_a_file_inside_a_file(self) -> None:
        train = "examples/digits/train.py"
        assert self.of({"a": train, "a/b": train}) == [
            "files.a/b: 'a' is a file, so nothing can be inside it; use another path"
        ]

    def test_too_much(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("workloads.sources.PROJECT", tmp_path)
        (tmp_path / "fits").write_bytes(bytes(1024 * 1024))
        (tmp_path / "one").write_bytes(b"1")
        assert self.of({"train.py": "fits"}) == []
        assert self.of({"train.py": "fits", "one": "one"}) == [
            "files: the files have 1048577 bytes, more than the 1048576 of a ConfigMap (largest: train.py); put "
            "data on a volume or into the image"
        ]
