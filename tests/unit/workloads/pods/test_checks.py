"""Sources of `files` are looked up before anything is built."""

from pathlib import Path
from typing import Any

import pytest

from tensorplane.workloads.pods import sources
from tensorplane.workloads.pods.files import of_script
from tests.support.problems import dev, problems_of


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project."""
    monkeypatch.setattr("tensorplane.workloads.pods.sources.PROJECT", tmp_path)
    return tmp_path


def problems_of_files(files: dict[str, str]) -> list[str]:
    """The faults of a job with these files, without its path."""
    tree = dev()
    tree["workloads"]["digits"]["files"] = files
    return [line.removeprefix("tensorplane:workloads.digits.") for line in problems_of(tree)]


class TestFiles:
    """Sources of `files` are looked up before anything is built."""

    def test_missing(self) -> None:
        assert problems_of_files({"train.py": "examples/digits/trian.py"}) == [
            "files.train.py: examples/digits/trian.py: no such file; correct the path, which is relative to the "
            "project (did you mean train.py?)"
        ]

    def test_missing_package(self) -> None:
        assert problems_of_files({"x.csv": "package:sklaern/x.csv"}) == [
            "files.x.csv: package:sklaern/x.csv: no Python package 'sklaern' is installed"
        ]

    def test_missing_inside_a_package(self) -> None:
        assert problems_of_files({"x.csv": "package:sklearn/datasets/data/digit.csv.gz"}) == [
            "files.x.csv: package:sklearn/datasets/data/digit.csv.gz: no such file; correct the path, which is "
            "relative to the project (did you mean digits.csv.gz?)"
        ]

    def test_outside_the_project(self) -> None:
        need = "use a file of the project (examples/digits/train.py) or of a Python package (package:NAME/data.csv)"
        assert problems_of_files({"x": "/etc/passwd"}) == [f"files.x: invalid value '/etc/passwd'; {need}"]
        assert problems_of_files({"x": "../x"}) == [f"files.x: invalid value '../x'; {need}"]

    def test_a_file_inside_a_file(self) -> None:
        train = "examples/digits/train.py"
        assert problems_of_files({"a": train, "a/b": train}) == [
            "files.a/b: 'a' is a file, so nothing can be inside it; use another path"
        ]

    def test_too_much(self, project: Path) -> None:
        (project / "fits").write_bytes(bytes(16 * 1024 * 1024))
        (project / "one").write_bytes(b"1")
        assert problems_of_files({"train.py": "fits"}) == []
        assert problems_of_files({"train.py": "fits", "one": "one"}) == [
            "files: the files have 16,777,217 bytes, more than the 16,777,216 that go into ConfigMaps (largest: "
            "train.py); put data on a volume or into the image"
        ]


class TestFolders:
    """A folder brings its files, without hidden ones and caches; links to files outside of the project are refused."""

    @pytest.fixture
    def folder(self, project: Path) -> Path:
        for name in ("train.py", "inner/data.py", "__pycache__/data.pyc", ".env", ".git/config", "old.pyc"):
            (project / "mine" / name).parent.mkdir(parents=True, exist_ok=True)
            (project / "mine" / name).write_text(name)
        return project / "mine"

    def test_files_of_a_folder(self, folder: Path) -> None:
        assert sources.read({"src": "mine"}) == {"src/inner/data.py": b"inner/data.py", "src/train.py": b"train.py"}
        assert set(sources.read({".": "mine"})) == {"inner/data.py", "train.py"}
        assert problems_of_files({".": "mine"}) == []

    def test_without_files(self, project: Path) -> None:
        (project / "mine" / "__pycache__").mkdir(parents=True)
        need = "the folder has no files; hidden files and caches do not count"
        assert problems_of_files({"src": "mine", "train.py": "mine"})[0] == f"files.src: mine: {need}"

    def test_links(self, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
        elsewhere = tmp_path_factory.mktemp("elsewhere") / "secret"
        elsewhere.touch()
        (folder / "same.py").symlink_to("train.py")
        assert sources.read({".": "mine"})["same.py"] == b"train.py"
        (folder / "link").symlink_to(elsewhere)
        assert problems_of_files({".": "mine"})[0] == (
            "files..: mine: link is a symlink to a file outside the project; copy the file"
        )
        (folder / "link").unlink()
        (folder / "link").symlink_to("inner")
        assert problems_of_files({".": "mine"})[0].endswith(
            "link is a symlink to a folder; name the folder that it points to in `files`"
        )
        (folder / "link").unlink()
        (folder / "link").symlink_to("gone")
        assert problems_of_files({".": "mine"})[0].endswith("link is a broken symlink or not a regular file; remove it")

    def test_too_many_files(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sources, "MOST_FILES", 1)
        assert (
            problems_of_files({".": "mine"})[0] == "files..: mine: the folder has more than 1 files; name a smaller one"
        )

    def test_one_path_twice(self, folder: Path) -> None:
        same = {".": "mine", "train.py": "mine/train.py"}
        assert problems_of_files(same) == []
        assert problems_of_files({**same, "train.py": "mine/inner/data.py"}) == [
            "files.train.py: train.py is also in files..; rename or remove one of them"
        ]


class TestScript:
    """`script` is a Python file of the project, and brings its folder."""

    def of(self, **settings: Any) -> list[str]:
        tree = dev()
        job = tree["workloads"]["digits"]
        del job["command"], job["files"]
        job.update(settings)
        return [line.removeprefix("tensorplane:workloads.digits.") for line in problems_of(tree)]

    def test_its_folder_is_enough(self) -> None:
        assert self.of(script="examples/digits/train.py", args=["--fast"]) == []

    def test_it_is_missing(self) -> None:
        assert self.of(script="examples/digits/trian.py") == [
            "script: examples/digits/trian.py: no such file; correct the path, which is relative to the project (did "
            "you mean train.py?)"
        ]

    def test_it_is_not_python(self) -> None:
        need = "use a Python file of the project, such as mine/train.py; for other programs set command"
        assert self.of(script="train.sh") == [f"script: invalid value 'train.sh'; {need}"]
        assert self.of(script="../train.py") == [f"script: invalid value '../train.py'; {need}"]

    def test_neither_and_both(self) -> None:
        assert self.of()[0].startswith("command: required setting is missing")
        both = self.of(script="examples/digits/train.py", command=["python3", "train.py"])
        assert both == ["script: is set, and so is command; remove one of them"]
        alone = self.of(command=["python3", "-c", "pass"], args=["--fast"])
        assert alone == ["args: are the arguments of script, which is not set; add them to command"]

    def test_a_file_of_another_source_with_its_name(self) -> None:
        assert self.of(script="examples/digits/train.py", files={"data.py": "cli/options.py"}) == [
            "files.data.py: data.py is also in script; rename or remove one of them"
        ]

    def test_the_root_of_the_project_is_not_mounted(self) -> None:
        assert of_script("train.py") == {"train.py": "train.py"}
        assert of_script("mine/deep/train.py") == {".": "mine/deep"}
