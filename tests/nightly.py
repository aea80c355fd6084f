"""`python -m tests.nightly 3/10`: a shard of what is counted, random, killed or slow. Started again, it goes on.

docs/testing.md has a row for the last full pass of each shard, which a shard that passes writes.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime

from tensorplane.core.paths import PROJECT, cache
from tests import groups
from tests.support.counts import Shard
from tests.support.shards import PROGRESS, passed, taken, took

_PAGE = PROJECT / "docs" / "testing.md"
_ROWS = re.compile(r"(?<=<!-- SHARDS: BEGIN -->\n).*?(?=<!-- SHARDS: END -->)", re.DOTALL)
_DIRTY = "-dirty"
_HEADER = "| shard | date | commit | seed | tests | minutes |\n|---|---|---|---|---|---|\n"
_INSTANCES = {"": "", "-2": "-4", "-3": "-5"}
"""What the groups append to their clusters' names, by what they append in `make test`, which can run beside a shard."""
_BESIDE_ITS_GROUP = "e2e"
"""The longest part of a shard, which waits for pods for most of its time."""
_ITS_INSTANCE = "-5"
"""The cluster `e2e-4` is also that of the starts that are refused, in its former group; `e2e-5` is nobody's."""


def main() -> int:
    """Runs what the shard has left at this commit, all groups side by side."""
    try:
        part = Shard.parse(sys.argv[1])
    except (IndexError, ValueError) as error:
        print(f"tests: {error}", file=sys.stderr)
        return 1
    seed = os.environ.setdefault("TENSORPLANE_SEED", "1")
    commit = _commit()
    progress = cache() / "nightly" / f"{commit}-seed-{seed}-shard-{part.index}-of-{part.of}.jsonl"
    progress.parent.mkdir(parents=True, exist_ok=True)
    is_clean = not commit.endswith(_DIRTY)
    if not is_clean:
        print("tests: files differ from the commit: the shard begins anew, and writes no row", flush=True)
        progress.unlink(missing_ok=True)
    if before := passed(progress):
        print(f"tests: {len(before)} tests have passed before; the others follow", flush=True)
    os.environ |= {"TENSORPLANE_SHARD": str(part), PROGRESS: str(progress)}
    began = time.monotonic()
    code = groups.run(own_groups(), "-m", "(nightly or counted) and not gpu", "--timeout", "0")
    took(progress, time.monotonic() - began)
    done = passed(progress)
    print(f"tests: {len(done)} tests of shard {part} have passed at {commit} with seed {seed}; {progress}")
    if not code and is_clean:
        minutes = taken(progress) / 60
        _write_row(f"| {part} | {datetime.now(UTC):%Y-%m-%d} | {commit} | {seed} | {len(done)} | {minutes:.0f} |", part)
    return code


def own_groups() -> dict[str, groups.Group]:
    """Those of `make test` on other clusters, the paths end to end beside the rest of their group."""
    own: dict[str, groups.Group] = {}
    for name, group in groups.GROUPS.items():
        of_night = replace(group, instance=_INSTANCES[group.instance])
        if _BESIDE_ITS_GROUP in group.folders:
            own[_BESIDE_ITS_GROUP] = groups.Group([_BESIDE_ITS_GROUP], _ITS_INSTANCE)
            of_night = replace(of_night, folders=[each for each in group.folders if each != _BESIDE_ITS_GROUP])
        own[name] = of_night
    return own


def _write_row(row: str, part: Shard) -> None:
    page = _PAGE.read_text()
    found = _ROWS.search(page)
    assert found, f"{_PAGE} has no table of shards"
    _PAGE.write_text(page[: found.start()] + table(found[0], row, part) + page[found.end() :])


def table(former: str, row: str, part: Shard) -> str:
    """Puts the row in place of the shard's former one; rows of another number of shards go."""
    kept = [line for line in former.splitlines()[2:] if line.split()[1].endswith(f"/{part.of}")]
    rows = {line.split()[1]: f"{line}\n" for line in [*kept, row]}
    return _HEADER + "".join(rows[shard] for shard in sorted(rows, key=lambda shard: int(shard.split("/")[0])))


def _commit() -> str:
    """The last commit of more than pages: a row that one shard writes must not begin the others anew."""
    code = ("--", ".", ":(exclude)docs", ":(exclude)*.md", ":(exclude)tests/report.tsv")
    changed = _git("status", "--porcelain", *code)
    return _git("log", "-1", "--format=%h", "--abbrev=8", *code) + (_DIRTY if changed else "")


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=PROJECT, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
