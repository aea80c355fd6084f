"""Releases are downloaded whole and by their hash, or what is missing is built; a server stands in for the internet."""

from __future__ import annotations

import hashlib
import socket
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from rich.console import Console

from tensorplane.core.errors import UserError
from tensorplane.core.progress import Progress
from tensorplane.core.step import Step
from tensorplane.core.tasks import Task, run_all
from tensorplane.toolchain import download, go_build, golang, releases
from tensorplane.toolchain.go_module import GoModule
from tests.support import ports
from tests.toolchain.stand_in_program import tar
from tests.toolchain.stand_in_releases import Fault, StandInReleases, pin, serving

_PROGRAM = "#!/bin/sh\necho downloaded\n#".ljust(4000, "x")
_CONTENT = _PROGRAM.encode()


@pytest.fixture
def server() -> Iterator[StandInReleases]:
    with serving() as stand_in:
        yield stand_in


@pytest.fixture
def hello(own_cache: Path, tiny: GoModule, monkeypatch: pytest.MonkeyPatch) -> GoModule:
    """A module with one program, on a machine that may download."""
    monkeypatch.delenv(releases.SWITCH)
    for name in ("http_proxy", "HTTP_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    return tiny


@pytest.fixture
def pinned(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., None]:
    """Pins a URL as the release of `hello`, by default with the hash of its program."""

    def use(url: str, content: bytes = _CONTENT, *programs: str, name: str = "hello", digest: str = "") -> None:
        pin(monkeypatch, tmp_path, name, url, content, *programs, digest=digest)

    return use


@pytest.fixture
def no_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing may be built."""

    def refuse(_: Step) -> None:
        raise AssertionError("Go was asked for")

    monkeypatch.setattr(golang, "obtain", refuse)


@pytest.fixture
def short_stalls(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server may be silent for seconds only."""
    monkeypatch.setattr(download, "STALL_SECONDS", 2.0)


def _obtained(module: GoModule) -> tuple[str, list[str]]:
    """What the module's program says, and the lines that a user has seen."""
    lines: list[str] = []
    go_build.build(module, Step(module.name, lines.append))
    said = subprocess.run([module.path("hello")], capture_output=True, text=True, check=True).stdout.strip()
    return said, lines


def _part(own_cache: Path, url: str) -> Path:
    return own_cache / "downloads" / f"tiny-{url.rpartition('/')[2]}"


def test_a_release_is_downloaded_and_nothing_is_built(
    hello: GoModule, server: StandInReleases, pinned: Callable[..., None], own_cache: Path, no_go: None
) -> None:
    pinned(server.url("hello", _CONTENT))
    assert _obtained(hello) == ("downloaded", [])
    assert list((own_cache / "downloads").iterdir()) == []


def test_an_archives_programs_are_found_by_name(
    hello: GoModule, server: StandInReleases, pinned: Callable[..., None], no_go: None
) -> None:
    module = replace(hello, only=("./hello", "./other"))
    archive = tar({"hello-1.0/bin/hello": _PROGRAM, "hello-1.0/other": "", "../outside": "", "hello-1.0/README": ""})
    pinned(server.url("hello.tar.gz", archive), archive, "hello", "oth*")
    assert _obtained(module) == ("downloaded", [])
    assert {path.name for path in module.path("hello").parent.iterdir()} == {"hello", "other"}


@pytest.mark.parametrize(
    ("faults", "ranges"),
    [
        (["cut off"], ["", "bytes=2000-"]),
        (["stalled"], ["", "bytes=2000-"]),
        (["broken"], ["", ""]),
        (["cut off", "no ranges"], ["", "bytes=2000-"]),
    ],
    ids=["cut-off", "stalled", "broken", "without-ranges"],
)
@pytest.mark.usefixtures("short_stalls", "no_go")
def test_an_interrupted_download_goes_on(
    hello: GoModule,
    server: StandInReleases,
    pinned: Callable[..., None],
    faults: list[Fault],
    ranges: list[str],
) -> None:
    pinned(server.url("hello", _CONTENT, *faults))
    assert _obtained(hello) == ("downloaded", [])
    assert [span for _, span in server.requests] == ranges
    assert server.stalling.is_set() == ("stalled" in faults)


def test_what_a_killed_run_has_left_is_not_downloaded_again(
    hello: GoModule, server: StandInReleases, pinned: Callable[..., None], own_cache: Path, no_go: None
) -> None:
    url = server.url("hello", _CONTENT)
    pinned(url)
    _part(own_cache, url).parent.mkdir(parents=True)
    _part(own_cache, url).write_bytes(_CONTENT[:1000])
    assert _obtained(hello) == ("downloaded", [])
    assert [span for _, span in server.requests] == ["bytes=1000-"]


@pytest.mark.usefixtures("short_stalls", "no_go")
def test_a_download_ends_with_its_run_and_keeps_what_it_has(
    hello: GoModule, server: StandInReleases, pinned: Callable[..., None], own_cache: Path
) -> None:
    url = server.url("hello", _CONTENT, "stalled")
    pinned(url)

    def fail(_: Step) -> None:
        server.stalling.wait()
        raise UserError("another task failed")

    with pytest.raises(UserError, match="another task failed"):
        run_all([Task("tiny", partial(go_build.build, hello)), Task("other", fail)], Progress(Console(quiet=True)))
    assert len(server.requests) == 1
    assert _part(own_cache, url).stat().st_size == 2000


@pytest.mark.parametrize("left", [b"of another file", _CONTENT + b"and more"], ids=["another", "longer"])
def test_what_is_left_of_another_file_is_replaced(
    hello: GoModule, server: StandInReleases, pinned: Callable[..., None], own_cache: Path, no_go: None, left: bytes
) -> None:
    url = server.url("hello", _CONTENT)
    pinned(url)
    _part(own_cache, url).parent.mkdir(parents=True)
    _part(own_cache, url).write_bytes(left)
    assert _obtained(hello) == ("downloaded", [])


@pytest.mark.parametrize(
    ("faults", "problem"),
    [
        (["missing"], "answers 404 Not Found"),
        (["broken"] * 3, "answers 502 Bad Gateway"),
        (["cut off"] * 3, "ends after 3500 bytes (of 4000)"),
    ],
    ids=["missing", "broken", "cut-off"],
)
def test_what_cannot_be_had_is_built_and_a_line_says_so(
    hello: GoModule,
    server: StandInReleases,
    pinned: Callable[..., None],
    own_cache: Path,
    faults: list[Fault],
    problem: str,
) -> None:
    url = server.url("hello", _CONTENT, *faults)
    pinned(url)
    assert _obtained(hello) == ("built by the test", [f"{url} {problem}; building from the Go module"])
    assert list((own_cache / "downloads").iterdir()) == []


def test_a_stall_that_does_not_end_is_such_a_line(
    hello: GoModule,
    server: StandInReleases,
    pinned: Callable[..., None],
    short_stalls: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(download, "ATTEMPTS", 1)
    url = server.url("hello", _CONTENT, "stalled")
    pinned(url)
    line = f"{url} has sent nothing for 2 s, after 2000 bytes; building from the Go module"
    assert _obtained(hello) == ("built by the test", [line])


def test_another_hash_is_refused_in_one_line_with_both(
    hello: GoModule, server: StandInReleases, pinned: Callable[..., None], own_cache: Path
) -> None:
    url = server.url("hello", b"something else")
    pinned(url)
    expected, found = (f"sha256:{hashlib.sha256(data).hexdigest()}" for data in (_CONTENT, b"something else"))
    line = f"{url} has the hash {found} and not the pinned {expected}; building from the Go module"
    assert _obtained(hello) == ("built by the test", [line])
    assert list((own_cache / "downloads").iterdir()) == []


def test_a_longer_hash_of_another_algorithm_counts(
    hello: GoModule, server: StandInReleases, pinned: Callable[..., None], no_go: None
) -> None:
    pinned(server.url("hello", _CONTENT), digest=f"sha512:{hashlib.sha512(_CONTENT).hexdigest()}")
    assert _obtained(hello) == ("downloaded", [])


@pytest.mark.parametrize(
    ("archive", "problem"), [(tar({"other": ""}), "has no hello"), (b"not an archive", "cannot be unpacked (")]
)
def test_an_archive_without_the_program_is_no_release(
    hello: GoModule, server: StandInReleases, pinned: Callable[..., None], archive: bytes, problem: str
) -> None:
    url = server.url("hello.tar.gz", archive)
    pinned(url, archive)
    said, (line,) = _obtained(hello)
    assert said == "built by the test"
    assert line.startswith(f"{url} {problem}")


def test_only_the_program_that_cannot_be_had_is_built(
    hello: GoModule, server: StandInReleases, pinned: Callable[..., None]
) -> None:
    # As `kube` is one program with the names of five, which are five releases.
    module = replace(hello, only=("./hello", "./there"), names={"hello": ("first", "second")})
    for name in ("first", "there"):
        pinned(server.url(name, _CONTENT), name=name)
    pinned(server.url("second", _CONTENT, "missing"), name="second")
    said, lines = _obtained(module)
    assert said == "built by the test"
    assert len(lines) == 1 and "/second answers 404" in lines[0]
    for name, expected in {"first": "downloaded", "second": "built by the test", "there": "downloaded"}.items():
        assert subprocess.run([module.path(name)], capture_output=True, text=True).stdout.strip() == expected


# --- reach -----------------------------------------------------------------------------------------


def test_a_proxy_is_asked_for_hosts_that_are_not_excepted(
    hello: GoModule,
    server: StandInReleases,
    pinned: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    no_go: None,
) -> None:
    server.url("hello", _CONTENT)
    pinned("http://releases.invalid/assets/hello")
    monkeypatch.setenv("http_proxy", server.address)
    assert _obtained(hello) == ("downloaded", [])


def test_no_proxy_is_asked_for_a_host_that_is_excepted(
    hello: GoModule,
    server: StandInReleases,
    pinned: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    no_go: None,
) -> None:
    pinned(server.url("hello", _CONTENT))
    with ports.refusing() as port:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        assert _obtained(hello) == ("downloaded", [])


def test_a_host_out_of_reach_is_named_once_for_all_its_files(hello: GoModule, pinned: Callable[..., None]) -> None:
    with ports.refusing() as port:
        for name in ("hello", "there"):
            pinned(f"http://127.0.0.1:{port}/{name}", name=name)
        module = replace(hello, names={"hello": ("there",)})
        line = f"127.0.0.1:{port} cannot be reached; building from the Go module"
        assert _obtained(module) == ("built by the test", [line])


def test_a_host_that_accepts_and_says_nothing_is_out_of_reach(
    hello: GoModule, pinned: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "REACH_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        host = f"127.0.0.1:{mute.getsockname()[1]}"
        pinned(f"http://{host}/hello")
        line = f"{host} cannot be reached; building from the Go module"
        assert _obtained(hello) == ("built by the test", [line])


# --- the switch --------------------------------------------------------------------------------------


def test_a_machine_that_shall_build_asks_no_host(
    hello: GoModule, server: StandInReleases, pinned: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    pinned(server.url("hello", _CONTENT))
    monkeypatch.setenv(releases.SWITCH, "build")
    assert _obtained(hello) == ("built by the test", [])
    assert server.requests == []


def test_a_machine_that_shall_download_does_not_build(
    hello: GoModule,
    server: StandInReleases,
    pinned: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    own_cache: Path,
    no_go: None,
) -> None:
    url = server.url("hello", _CONTENT, "cut off", "cut off", "cut off")
    pinned(url)
    monkeypatch.setenv(releases.SWITCH, "download")
    with pytest.raises(UserError) as caught:
        _obtained(hello)
    (line,) = caught.value.lines
    assert line == (f"tiny: {url} ends after 3500 bytes (of 4000); unset TENSORPLANE_TOOLS to build from the Go module")
    # The next run goes on.
    assert _obtained(hello) == ("downloaded", [])
    assert server.requests[-1][1] == "bytes=3500-"


def test_another_word_for_the_switch_is_refused(hello: GoModule, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(releases.SWITCH, "fetch")
    with pytest.raises(UserError, match="TENSORPLANE_TOOLS: is 'fetch'; set build or download, or unset it"):
        go_build.build(hello, Step("tiny"))
