"""Pipelines that change, go back, fail and are committed to by hand: once a start says that a run has finished, its
outputs are what a plain model makes of the deployed stages and the newest inputs."""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path, PurePosixPath
from typing import Any, cast
from unittest import mock

import pytest

from tensorplane.cli.access import Access
from tensorplane.cli.commands.runs import newest, start
from tensorplane.components.base.labels import STAGE
from tensorplane.core.kube import Kube
from tensorplane.datasets import Commit, Dataset, Refused
from tensorplane.datasets.retention import Rule
from tensorplane.stages import commit as stage_commit
from tensorplane.stages import item_results, joins, steps
from tensorplane.stages.description import Stage
from tensorplane.stages.parts import Part as SplitPart
from tensorplane.workloads.pipeline import manifest as pipeline_manifest
from tensorplane.workloads.pipeline import run as pipeline_run
from tensorplane.workloads.pipeline.manifest import PipelineContext
from tensorplane.workloads.pipeline.settings import PipelineSettings
from tensorplane.workloads.pipeline.stage_pods import StageContext, Stored
from tensorplane.workloads.pods.files import bundle
from tensorplane.workloads.pods.mounts import Mountable
from tests.support import counts

Files = dict[str, str]
Part = tuple[str, Files]
"""Its name, and its files."""
_DATASETS = ("photos", "labels", "pairs", "sheet")
_NAMES = {
    "photos": ("a.x", "a.y", "b.x", "c", "d.1/p", "d.2/q", "d.1/r"),
    "labels": ("a.j", "b.j", "e.j", "d.1/l", "d.2/m", "d.3/n"),
}
_JOINS: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any], str | None]] = {
    "whole": ({}, {}, None),
    "one": ({"split": "file"}, {}, None),
    "cross": ({"split": "file"}, {"split": "directory"}, "cross"),
    "files": ({"split": "file"}, {"split": "file"}, "name"),
    "folders": ({"split": "directory"}, {"split": "directory"}, "name"),
    "stated": ({"split": "file", "key": "(?)**"}, {"split": "file", "key": "(?)**"}, "name"),
    "endings": ({"split": "file", "key": {"endings": [".x", ".y"]}}, {"split": "file", "key": "(**).j"}, "name"),
}
"""Splits of the two inputs, and how their parts are joined."""


class AmbiguousError(Exception):
    """Two parts of an input have one key."""


class World:
    """A pipeline of two stages on a volume, and its runs."""

    def __init__(self, root: Path, draw: random.Random) -> None:
        self.root, self.draw = root, draw
        self.datasets = {name: Dataset(root / "datasets" / name) for name in _DATASETS}
        self.join, self.split, self.programs = "one", "whole", ["1", "1"]
        self.api = Api()
        self.access = Access(cast(Kube, self.api), "vision", stack="dev", declared={})
        for name in _NAMES:
            self.commit(name)

    def commit(self, name: str) -> None:
        """Other files of an input."""
        paths = self.draw.sample(_NAMES[name], self.draw.randint(1, len(_NAMES[name])))
        self.put(name, {path: self.draw.choice("12") for path in paths})

    def put(self, name: str, files: Files) -> None:
        dataset = self.datasets[name]
        kept = {path: dataset.keep(io.BytesIO(text.encode())) for path, text in files.items()}
        dataset.put(kept, whole=True)

    def files(self, name: str) -> Files:
        dataset = self.datasets[name]
        return {path: dataset.content(file).read_text() for path, file in dataset.files().items()}

    def template(self) -> dict[str, Any]:
        """The pipeline as deployed."""
        photos, labels, join = _JOINS[self.join]
        inputs = {"photos": {"dataset": "photos", **photos}, "labels": {"dataset": "labels", **labels}}
        pair = {"command": [self.programs[0]], "inputs": inputs, "output": "pairs", **({"join": join} if join else {})}
        read = {"pairs": {"dataset": "pairs", "split": self.split}}
        stages = {"pair": pair, "draw": {"command": [self.programs[1]], "inputs": read, "output": "sheet"}}
        stored = {name: Stored(Mountable("data", one_node=True), f"datasets/{name}", {}) for name in _DATASETS}
        facts = {name: StageContext("team/a:1") for name in stages}
        known = PipelineContext("sheets", "vision", facts, stored, "python:3", bundle("sheets-runtime", {}), {})
        return pipeline_manifest.template(PipelineSettings.model_validate({"stages": stages}), known)

    def start(self, fails: str = "") -> tuple[str, str]:
        """What a start says, and what became of its run. `fails`: a stage of which a part fails, or `later`: the first
        one loses a part, as it may, and after all stages another one fails."""
        template = self.template()
        with mock.patch.object(newest, "read", self._newest):
            name, _, said = start.start(self.access, cast(Any, None), template, "default").partition(": ")
        if said.startswith("started"):
            self.api.end(name, "Succeeded" if self._ran(name, template, fails) else "Failed")
        return said.partition(";")[0], self.api.phase(name)

    def _newest(self, _: object, __: object, template: Mapping[str, Any], ___: str) -> tuple[Any, Any]:
        def log(name: str) -> list[Mapping[str, Any]]:
            dataset = self.datasets[name]
            return [asdict(made) for made in dataset.log()] if "main" in dataset.branches() else []

        commits = {name: log(one.dataset)[0]["id"] for name, one in pipeline_run.sources(template).items()}
        return commits, {name: log(name) for name in pipeline_run.outputs(template)}

    def _ran(self, run: str, template: Mapping[str, Any], fails: str) -> bool:
        """Whether all stages of a run end well."""
        made = {one["name"]: one for one in template["spec"]["templates"]}
        for name in ("pair", "draw"):
            text = made[name]["metadata"]["annotations"][STAGE].replace("/volumes/data", str(self.root))
            stage = Stage.parse(text)
            try:
                loses = (fails, name) == ("later", "pair")
                self._stage(replace(stage, may_fail=int(loses)), run, loses or fails == name)
            except Refused:
                return False
        return fails != "later"

    def _stage(self, stage: Stage, run: str, fails: bool) -> None:
        versions = {each.name: each.open().resolve().id for each in stage.inputs}
        items = json.loads(steps.take("plan", stage, run, versions).outputs["items"])
        for number, item in enumerate(items):
            out = self.root / "out" / f"{self.draw.random()}"
            out.mkdir(parents=True)
            folders = {each.name: self.root / item[f"in-{each.name}"] for each in stage.inputs}
            found = {name: dict(_texts(folder)) for name, folder in folders.items()}
            for path, text in _program(str(stage.decisive["command"][0]), found).items():
                (out / path).write_text(text)
            if not (fails and number == 0):
                item_results.keep(stage, run, int(item["item"]), out)
        steps.take("commit", stage, run, {})
        steps.take("clean", stage, run, {})

    def expected(self) -> tuple[Files, Files]:
        """What both outputs have, by a plain model. Raises AmbiguousError if it is not clear which parts belong
        together."""
        photos, labels, join = _JOINS[self.join]
        splits = {"photos": photos.get("split", "whole"), "labels": labels.get("split", "whole")}
        parts = [_parts(self.files(name), str(split)) for name, split in splits.items()]
        keys = [_KEYS[self.join, name] for name in splits] if join == "name" else []
        if keys and self.join in ("files", "folders"):
            for of_input, key in zip(parts, keys, strict=True):
                found = [key(*part) for part in of_input]
                if len({*found}) < len(found):
                    raise AmbiguousError
        pairs: Files = {}
        for one, two in itertools.product(*parts):
            first, second = (key(*part) for key, part in zip(keys, (one, two), strict=True)) if keys else ("", "")
            if first == second and first is not None:
                pairs |= _program(self.programs[0], {"photos": one[1], "labels": two[1]})
        sheet: Files = {}
        for _, files in _parts(pairs, self.split):
            sheet |= _program(self.programs[1], {"pairs": files})
        return pairs, sheet


class Api:
    """Workflows by path."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}

    def items(self, path: str, **_: str) -> list[dict[str, Any]]:
        return list(self.objects.values())

    def get(self, path: str, **_: str) -> dict[str, Any] | None:
        return self.objects.get(path)

    def apply(self, path: str, thing: dict[str, Any], _: str) -> dict[str, Any]:
        self.objects[path] = thing
        return thing

    def delete(self, path: str, **_: str) -> None:
        del self.objects[path]

    def end(self, name: str, phase: str) -> None:
        self.objects[pipeline_run.path("workflows", "vision", name)]["status"] = {"phase": phase}

    def phase(self, name: str) -> str:
        found = self.objects.get(pipeline_run.path("workflows", "vision", name)) or {"status": {"phase": "deleted"}}
        return str(found["status"]["phase"])


def _texts(folder: Path) -> Iterator[tuple[str, str]]:
    for path in folder.rglob("*"):
        if path.is_file():
            yield path.relative_to(folder).as_posix(), path.read_text()


def _program(variant: str, inputs: Mapping[str, Files]) -> Files:
    """What a program makes of a part: one file, whose name follows from the names in its input."""
    names = sorted((name, path) for name, files in inputs.items() for path in files)
    text = json.dumps([variant, sorted((name, path, inputs[name][path]) for name, path in names)])
    return {f"{hashlib.sha256(json.dumps(names).encode()).hexdigest()[:12]}.txt": text}


def _parts(files: Files, split: str) -> list[Part]:
    if split == "whole":
        return [("", files)]
    if split == "file":
        return [(path, {path: text}) for path, text in files.items()]
    tops = dict.fromkeys(path.partition("/")[0] for path in files)
    return [(top, {path: text for path, text in files.items() if path.partition("/")[0] == top}) for top in tops]


def _without_ending(name: str, files: Files) -> str:
    if name not in files:
        return name
    folder, slash, last = name.rpartition("/")
    return f"{folder}{slash}{last.rpartition('.')[0] or last}"


def _ending(*ends: str) -> Callable[[str, Files], str | None]:
    return lambda name, _: next((name.removesuffix(end) for end in ends if name.endswith(end)), None)


_KEYS: Mapping[tuple[str, str], Callable[[str, Files], str | None]] = {
    **{(join, name): _without_ending for join in ("files", "folders") for name in ("photos", "labels")},
    **{("stated", name): lambda name, _: name[0] for name in ("photos", "labels")},
    ("endings", "photos"): _ending(".x", ".y"),
    ("endings", "labels"): _ending(".j"),
}


def _change(world: World, doing: str) -> None:
    draw = world.draw
    if doing in ("commit", "fail", "lose"):
        world.commit(draw.choice([*_NAMES]))
    elif doing == "program":
        world.programs[draw.randrange(2)] = draw.choice("123")
    elif doing == "join":
        world.join = draw.choice([*_JOINS])
    elif doing == "split":
        world.split = draw.choice(("whole", "file"))
    elif doing == "by hand":
        world.put(draw.choice(("pairs", "sheet")), {"by": draw.choice("12")})
    elif doing == "forget":
        world.api.objects.clear()
    elif doing == "collect":
        for name in ("pairs", "sheet"):
            world.datasets[name].collect(Rule(last=1), grace_seconds=0)


def _doings(draw: random.Random) -> Sequence[str]:
    kinds = ("commit", "program", "program", "join", "split", "by hand", "forget", "collect", "fail", "lose", "again")
    return [draw.choice(kinds) for _ in range(draw.randint(4, 12))]


def _check(root: Path, seed: str) -> None:
    """A pipeline's life, and after each of its events what its outputs are."""
    draw = random.Random(seed)
    world, done = World(root, draw), list[str]()
    for doing in ("again", *_doings(draw)):
        done.append(doing)
        _change(world, doing)
        said, phase = world.start({"fail": draw.choice(("pair", "draw")), "lose": "later"}.get(doing, ""))
        about = (seed, done, said, phase)
        try:
            expected = world.expected()
        except AmbiguousError:
            assert (said in ("started", "started again"), phase) == (True, "Failed"), about
            continue
        if phase == "Failed":
            assert doing in ("fail", "lose"), about
            said, phase = world.start()
            assert (said, phase) == ("started again", "Succeeded"), about
        assert (world.files("pairs"), world.files("sheet")) == expected, about
        made = world.datasets["sheet"].resolve().provenance
        assert made["inputs"][0]["commit"] == world.datasets["pairs"].resolve().id, about
        assert world.start()[0] == "has finished already", about


@pytest.mark.counted
def test_outputs_are_what_a_plain_model_makes_of_the_newest_inputs(tmp_path: Path) -> None:
    for number in range(counts.of(quick=4, nightly=300)):
        _check(tmp_path / f"{number}", f"{counts.seed()}.{number}")


def _with_suffix(part: SplitPart, stated: str | None) -> tuple[str, ...] | None:
    """The key of a part, of folders, too, without what follows the last dot."""
    if stated is None:
        return (str(PurePosixPath(part.name).with_suffix("")),)
    found = re.fullmatch(stated, part.name)
    return found.groups() if found else None


def _whatever_it_has(stage: Stage, run: str, *_: object) -> Commit | None:
    """The commit of a run, also if parts that it lacks have results since."""
    log = stage.output().log() if stage.output().branches() else ()
    return next((made for made in log if made.provenance.get("run") == run), None)


_FAULTS: Mapping[str, tuple[object, str, object]] = {
    "a run that starts again keeps its version": (stage_commit, "_former", _whatever_it_has),
    "a run does not know what it replaces": (pipeline_run, "replaced", lambda *_: ""),
    "whatever finished once is done": (pipeline_run, "begins", lambda *_: True),
    "folders have endings": (joins, "_key", _with_suffix),
    "parts of one key are not refused": (joins, "_ambiguous", lambda *_: ()),
}


@pytest.mark.nightly("faults that the generator of pipelines finds again")
@pytest.mark.parametrize("fault", _FAULTS)
def test_each_fault_that_was_mended_is_found_again(fault: str, tmp_path: Path) -> None:
    with mock.patch.object(*_FAULTS[fault]), pytest.raises((AssertionError, Refused)):
        for number in range(100):
            _check(tmp_path / f"{number}", f"planted.{number}")
