"""A search for secrets finds each of them in every encoding."""

import base64
import json
from pathlib import Path

import pytest

from tests.support import planted

SECRET = 'correct "horse"/ß+'


@pytest.mark.parametrize("before", ["", "x", "xy", "xyz"])
@pytest.mark.parametrize("after", ["", "1", "12"])
def test_base64_is_found_wherever_it_begins(before: str, after: str) -> None:
    text = f"{before}{SECRET}{after}".encode()
    for encoded in (base64.b64encode(text), base64.urlsafe_b64encode(text)):
        assert planted.found_in({"a log": b"token: " + encoded + b"\n"}, {"token": SECRET})


@pytest.mark.parametrize(
    "text",
    [
        SECRET,
        SECRET[::-1],
        SECRET.encode().hex(),
        SECRET.encode().hex().upper(),
        json.dumps({"token": SECRET}),
        json.dumps({"token": SECRET}, ensure_ascii=False),
        json.dumps(json.dumps({"token": SECRET})),
        "correct%20%22horse%22%2F%C3%9F%2B",
        "correct+%22horse%22%2F%C3%9F%2B",
    ],
)
def test_other_encodings_are_found(text: str) -> None:
    found = planted.found_in({"state": f"before {text} after".encode()}, {"token": SECRET, "other": "battery-staple"})
    assert found
    assert all(line.startswith("token is in state (") for line in found)
    assert SECRET not in "".join(found)


def test_what_is_not_there_is_not_found() -> None:
    assert planted.found_in({"state": b"correct horse"}, {"token": SECRET}) == []


def test_files_are_searched_except_where_secrets_were_planted(tmp_path: Path) -> None:
    for name in ("state/backups/one", "home/config", "log"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(SECRET)
    assert set(planted.files(tmp_path, [tmp_path / "home"])) == {"state/backups/one", "log"}
