"""The variables of `pulumi` in this project: where state and passphrase are, and what previews show."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from tensorplane.core.paths import state_home

_WHOLE_FILES = "?metadata=skip"
"""Pulumi replaces its state files atomically, but not the attribute files next to them: an empty one, left by a kill,
makes every later command fail with `EOF`. This setting disables attribute files."""


INPUTS_AS_OUTPUTS = {"PULUMI_LEGACY_PROVIDER_PREVIEW": "1"}
"""Objects in a cluster that does not exist yet have their inputs as outputs. Without this, a preview sends policies
empty objects, which the rule `resources-shown` refuses."""


def pulumi_environment(home: Path, given: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Variables for running `pulumi` on the stacks of one home; the user's own variables stay.

    Variables from activating a shell are not the user's: they name one home, and this command may be about another.

    Creates the state's folder and the passphrase's file if they are missing.
    """
    wanted = {
        "PULUMI_BACKEND_URL": f"file://{_state(home)}{_WHOLE_FILES}",
        "PULUMI_SKIP_UPDATE_CHECK": "1",
        **INPUTS_AS_OUTPUTS,
    }
    # The CLI prefers the file, so naming ours would override a passphrase that the user set.
    if "PULUMI_CONFIG_PASSPHRASE" not in given:
        wanted["PULUMI_CONFIG_PASSPHRASE_FILE"] = str(_passphrase(home))
    return {name: value if _is_ours(given.get(name)) else given[name] for name, value in wanted.items()}


def _is_ours(value: str | None) -> bool:
    return value is None or value.removeprefix("file://").startswith(f"{state_home()}{os.sep}")


def _state(home: Path) -> Path:
    folder = home / "pulumi"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for notes in folder.glob(".pulumi/**/*.attrs"):
        # A pulumi without that setting was killed between creating and filling it; Pulumi does not require it.
        with suppress(FileNotFoundError):
            if not notes.stat().st_size:
                notes.unlink()
    return folder


def _passphrase(home: Path) -> Path:
    path = home / "passphrase"
    if not path.exists():
        home.mkdir(parents=True, exist_ok=True)
        # Complete and private from the first moment, also if two commands start at once: linking fails if it exists.
        descriptor, draft = tempfile.mkstemp(prefix=".passphrase-", dir=home)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(32) + "\n")
        with suppress(FileExistsError):
            path.hardlink_to(draft)
        Path(draft).unlink()
    return path
