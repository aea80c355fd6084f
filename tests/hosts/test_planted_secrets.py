"""Secrets go in by every way that a stack takes them, and come out nowhere: not as they are, and not encoded.

The real engine deploys, previews, refuses and deploys again. Afterwards state, backups, history, logs, events, reports,
settings and temporary files are searched.
"""

from __future__ import annotations

import base64
import io
import json
import os
import re
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from tensorplane.cli.commands.preview import render
from tensorplane.cli.commands.preview.engine import Preview
from tensorplane.core.errors import UserError
from tensorplane.core.step import Step
from tensorplane.driver.stack_settings import StackSettings
from tensorplane.driver.update.stack import Stack
from tests.recorded import stacks
from tests.support import kubeconfigs, planted

pytestmark = pytest.mark.nightly("ten engine runs of a whole stack; test_lifecycle.py keeps a secret")

NAME = "planted"
# Texts that encodings change: quotes, line breaks, signs of URLs, letters beyond ASCII.
_SHAPES = (
    "{}",
    'say "{}"',
    "line\n{}\nline",
    "p@ss/{}+%=&?",
    "Schlüssel-{}-ß",
    '{{"token": "{}"}}',
    "a b\\c{}",
    "${{{}}}",
)

SETTINGS = """\
config:
  tensorplane:cluster: {{kind: existing, context: nowhere, kubeconfig: {kubeconfig}}}
  tensorplane:controllers: {{kueue: present, jobset: present}}
  tensorplane:volumes:
    models: {{sizeGib: 1, path: /models}}
    work: {{sizeGib: 1, accessModes: [ReadWriteMany]}}
    shared: {{sizeGib: 1, backend: {{kind: nfs, server: nfs.example, folder: /exports/shared}}}}
  tensorplane:streams:
    clicks:
      topics: {{clicks: {{partitions: 1}}}}
      groups: {{trainer: {{topics: [clicks]}}}}
      broker:
        kind: managed
        endpoint: {{bootstrap: "broker.example:9096", authentication: plain, username: u, secret: kafka}}
  tensorplane:queues:
    research: {{cpus: 8, memoryGib: 16, teams: [vision]}}
  tensorplane:teams:
    vision: {{members: ["user:ada@example.com"]}}
  tensorplane:workloads:
    digits:
      kind: trainingJob
      strategy: {{kind: single}}
      command: [python3, train.py, --plain]
      files: {{train.py: examples/digits/train.py}}
      env: {{STEPS: 300}}
      volumes: {{work: /work}}
      checkpoints: {{volume: work}}
      streams: {{clicks: {{group: trainer}}}}
      queue: research
    search:
      kind: sweep
      search: {{parameters: {{RATE: {{low: 0.1, high: 0.9}}}}, sampler: random, trials: 2}}
      controllerImage: registry.example/controller:1
      trial:
        strategy: {{kind: single}}
        command: [python3, train.py, --plain]
        files: {{train.py: examples/digits/train.py}}
        env: {{STEPS: 300}}
        volumes: {{work: /work}}
        model: {{volume: work, path: search}}
        checkpoints: {{volume: work}}
        queue: research
    served: {{kind: modelServer, model: {{volume: models, path: digits}}}}
"""

IN_SETTINGS = {
    **{f"workloads.digits.env.SECRET_{index}": shape for index, shape in enumerate(_SHAPES * 2)},
    **{f"workloads.search.trial.env.SECRET_{index}": shape for index, shape in enumerate(_SHAPES)},
    "workloads.digits.command[2]": "--token={}",
    "workloads.digits.image": "registry.example/train-{}:1",
    "workloads.search.trial.command[2]": "--seed={}",
    "workloads.served.model.path": "{}",
    "volumes.shared.backend.server": "{}.example",
    "volumes.shared.backend.folder": "/exports/{}",
    "streams.clicks.broker.endpoint.bootstrap": "{}.example:9096",
    "streams.clicks.broker.endpoint.username": "{}",
    "teams.vision.members[0]": "user:{}@example.com",
}
IN_ENVIRONMENT = (
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "ARM_CLIENT_SECRET",
    "AZURE_CLIENT_SECRET",
    "GITHUB_TOKEN",
    "GOOGLE_OAUTH_ACCESS_TOKEN",
    "HF_TOKEN",
    "KAGGLE_KEY",
    "PULUMI_CONFIG_PASSPHRASE",
    "REGISTRY_PASSWORD",
    "WANDB_API_KEY",
)


_IN_CONFIG_MAP = "workloads.search.trial.command[2]"
"""The provider of these tests keeps digests of ConfigMaps."""


def _made(shape: str = "{}") -> str:
    return shape.format(f"hunter-{secrets.token_hex(8)}")


def _inner(secret: str) -> str:
    """The secret without what its shape adds."""
    (found,) = re.findall(r"hunter-[0-9a-f]{16}", secret)
    return str(found)


@dataclass(frozen=True)
class Planted:
    """What was planted, by where, and everything that came out, by where."""

    secrets: dict[str, str]
    texts: dict[str, bytes]
    state: dict[str, object]


def _credentials(folder: Path, known: dict[str, str]) -> Path:
    """A home with a kubeconfig, a login of a registry, and files of clouds' tools."""
    (folder / ".docker").mkdir(parents=True)
    (folder / ".kube").mkdir()
    (folder / ".aws").mkdir()
    known |= {f"kubeconfig {part}": _made() for part in ("token", "password", "key", "exec")}
    known |= {f"registry {part}": _made() for part in ("auth", "identitytoken")} | {"aws file": _made()}
    user = {
        "token": known["kubeconfig token"],
        "password": known["kubeconfig password"],
        "client-key-data": base64.b64encode(known["kubeconfig key"].encode()).decode(),
        "exec": {"command": "false", "env": [{"name": "T", "value": known["kubeconfig exec"]}]},
    }
    kubeconfig = kubeconfigs.kubeconfig("https://127.0.0.1:1", user, name="nowhere")
    (folder / ".kube" / "config").write_text(yaml.safe_dump(kubeconfig))
    login = base64.b64encode(f"robot:{known['registry auth']}".encode()).decode()
    logins = {"registry.example": {"auth": login, "identitytoken": known["registry identitytoken"]}}
    (folder / ".docker" / "config.json").write_text(json.dumps({"auths": logins}))
    (folder / ".aws" / "credentials").write_text(f"[default]\naws_secret_access_key = {known['aws file']}\n")
    return folder


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Planted]:
    """One life of a stack, with secrets everywhere."""
    root = tmp_path_factory.mktemp("planted")
    known: dict[str, str] = {}
    home = _credentials(root / "user", known)
    (root / "tmp").mkdir()
    with stacks.opened(root) as opened, pytest.MonkeyPatch.context() as variables:
        of_environment = {name: _made() for name in IN_ENVIRONMENT}
        known |= {f"${name}": value for name, value in of_environment.items()}
        given = {**of_environment, "HOME": str(home), "TMPDIR": str(root / "tmp")}
        for name, value in given.items():
            variables.setenv(name, value)
        project = stacks.Stacks(opened.folder, {**opened.environment, **given})
        _clone(project.folder, known)
        (root / "written.yaml").write_text(SETTINGS.format(kubeconfig=home / ".kube" / "config"))
        project.add(NAME, root / "written.yaml")
        own = {path: _made(shape) for path, shape in IN_SETTINGS.items()}
        known |= own
        words = (f"--secret=tensorplane:{path}={value}" for path, value in own.items())
        project.run("config", "set-all", "--path", *words, "--stack", NAME)
        texts = _life(project, root)
        state = json.loads(project.run("stack", "export", "--show-secrets", "--stack", NAME))
        yield Planted(known, {**planted.files(root, [home, project.folder / ".git"]), **texts}, state)


def _clone(folder: Path, known: dict[str, str]) -> None:
    """Makes the project a clone whose remote has a token in its address, as in CI: Pulumi records where it ran."""
    known["git remote"] = _made()
    remote = f"https://robot:{known['git remote']}@git.example/team/stack.git"
    for words in (["init", "-q"], ["remote", "add", "origin", remote], ["config", "user.email", "ada@example.com"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    (folder / ".gitignore").write_text("*\n")
    commit = ["commit", "-qm", "stack", "--allow-empty"]
    subprocess.run(["git", "-c", "user.name=ada", *commit], cwd=folder, check=True)


def _life(project: stacks.Stacks, root: Path) -> dict[str, bytes]:
    """Deploys, previews a change, is refused, deploys the change; what all of it printed."""
    settings = StackSettings(NAME, root / "home", project.folder)
    pulumi = Path(shutil.which("pulumi", path=project.environment["PATH"]) or "")
    environment = dict(project.environment)
    stack = Stack(settings, pulumi, environment)
    stack.prepare(Step("prepare"))
    printed: list[str] = []
    texts: dict[str, str] = {}
    stack.up(Step("up"), show=printed.append)

    file = project.folder / f"Pulumi.{NAME}.yaml"
    file.write_text(file.read_text().replace("STEPS: 300", "STEPS: 400"))
    seen: list[object] = []
    report = Preview(settings, pulumi, environment).run(seen.append)
    shown = io.StringIO()
    Console(file=shown, width=300).print(render.terminal(report, 300))
    texts |= {"events": json.dumps(seen), "report": render.markdown(report), "table": shown.getvalue()}

    written = file.read_text()
    project.run("config", "set", "--path", "--secret", "tensorplane:workloads.digits.maxRestarts", "hunter-many-times")
    with pytest.raises(UserError) as refused:
        stack.prepare(Step("prepare"))
        stack.up(Step("up"), show=printed.append)
    texts["fault"] = "\n".join(refused.value.lines)
    file.write_text(written)

    stack.prepare(Step("prepare"))
    stack.up(Step("up"), show=printed.append)
    for words in (("stack", "export"), ("stack", "output", "--json"), ("stack", "history", "--json"), ("config",)):
        texts[" ".join(words)] = project.run(*words, "--stack", NAME)
    texts["preview --diff"] = project.run("preview", "--diff", "--stack", NAME)
    check = [sys.executable, "-m", "tensorplane.cli", "check", "--stack", NAME]
    done = subprocess.run(check, cwd=project.folder, env={**os.environ, **environment}, capture_output=True)
    texts["check"] = (done.stdout + done.stderr).decode()
    texts["printed"] = "\n".join(printed)
    return {name: text.encode() for name, text in texts.items()}


def test_there_are_more_than_fifty(everything: Planted) -> None:
    assert len(everything.secrets) > 50


def test_they_were_in_use(everything: Planted) -> None:
    """Else nothing could have come out: all settings are in the state, encrypted."""
    whole = json.dumps(everything.state).encode()
    inner = {name: _inner(everything.secrets[name]) for name in IN_SETTINGS}
    missing = {name for name, secret in inner.items() if not planted.found_in({"state": whole}, {name: secret})}
    assert missing == {_IN_CONFIG_MAP}


def test_none_comes_out(everything: Planted) -> None:
    assert len(everything.texts) > 20
    assert planted.found_in(everything.texts, everything.secrets) == []
    # Parts of them are secret, too: the name in `user:NAME`.
    parts = {name: _inner(secret) for name, secret in everything.secrets.items()}
    assert planted.found_in(everything.texts, parts) == []
