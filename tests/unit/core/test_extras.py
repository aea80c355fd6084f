"""What an extra of the installed package lacks is one line with the command that installs it."""

from __future__ import annotations

import json
import re
from importlib import metadata
from pathlib import Path

import pytest

from tensorplane.core import extras
from tensorplane.core.errors import UserError
from tensorplane.driver import exit_codes

_REQUIRES = [
    "click>=8",
    "pulumi>=3; extra == 'platform'",
    "pulumi-made-up>=4; extra == 'platform'",
    "pytest>=999; extra == 'dev'",
    "tensorplane[platform]; extra == 'dev'",
]
_IS_MISSING = "is missing or has another version; run: pip install"


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    about = type("About", (), {"get_all": lambda _, name: ["dev", "platform"]})
    monkeypatch.setattr(metadata, "requires", lambda name: _REQUIRES)
    monkeypatch.setattr(metadata, "metadata", lambda name: about())


@pytest.mark.usefixtures("installed")
def test_all_that_extras_lack_is_told_with_the_remedy() -> None:
    with pytest.raises(UserError) as raised:
        extras.require("platform", "dev")
    assert raised.value.lines == (
        f"tensorplane[platform]: pulumi-made-up {_IS_MISSING} 'tensorplane[platform]'",
        "tensorplane[dev]: pytest, pulumi-made-up are missing or have another version; run: pip install "
        "'tensorplane[dev]'",
    )


@pytest.mark.usefixtures("installed")
def test_a_module_that_is_missing_names_the_smallest_extra_that_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    said = exit_codes.error_lines("tensorplane up", ModuleNotFoundError("no module", name="pulumi_made_up.core"))
    assert said == [f"tensorplane[platform]: pulumi-made-up {_IS_MISSING} 'tensorplane[platform]'"]
    (other,) = exit_codes.error_lines("tensorplane up", ModuleNotFoundError("no module", name="stranger"))
    assert "stopped by an unforeseen ModuleNotFoundError" in other


@pytest.mark.usefixtures("installed")
def test_the_remedy_installs_from_where_the_package_came(monkeypatch: pytest.MonkeyPatch) -> None:
    """No index may have it, and what an index has under its name may be something else."""
    url = "file:///some%20folder/tensorplane-0.1.0-py3-none-any.whl"
    about = type("About", (), {"read_text": lambda _, name: json.dumps({"url": url}), "version": "0"})
    monkeypatch.setattr(metadata, "distribution", lambda name: about())
    with pytest.raises(UserError, match=re.escape(f"run: pip install 'tensorplane[platform] @ {url}'")):
        extras.require("platform")
    assert "file:" not in extras.pinned("dev"), "other machines do not have the file"


def test_in_a_checkout_nothing_is_missing() -> None:
    extras.require("platform", "dev")
