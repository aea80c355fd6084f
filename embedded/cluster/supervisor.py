"""supervisord, which keeps the cluster's processes running: its configuration, a client, a process's last error."""

from __future__ import annotations

import http.client
import re
import shlex
import xmlrpc.client
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from supervisor.xmlrpc import SupervisorTransport

from tensorplane.core.errors import UserError
from tensorplane.embedded.cluster.node_paths import SYSTEM_PATH, NodePaths
from tensorplane.embedded.cluster.process_specs import ProcessSpec

# How the processes' loggers mark errors: klog, zap in JSON, logrus, and Go itself.
_ERROR = re.compile(r'^[EF]\d{4} |"level":"(error|fatal|panic)"|level=(error|fatal)|^panic:|^fatal error:|^Error')


def render(paths: NodePaths, specs: list[ProcessSpec], *, autostart: bool = False) -> str:
    """supervisord.conf. Without `autostart`, nothing starts by itself: `start` starts them by their start order."""
    head = f"""[unix_http_server]
file={paths.supervisor_socket}
chmod=0700

[supervisord]
nodaemon=true
silent=true
user=root
pidfile={paths.supervisor_socket.with_suffix(".pid")}
logfile={paths.logs}/supervisord.log
logfile_maxbytes=1MB
logfile_backups=1
loglevel=warn

[rpcinterface:supervisor]
supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface
"""
    return head.replace("%", "%%") + "".join(_program(paths, spec, autostart) for spec in specs)


def _program(paths: NodePaths, spec: ProcessSpec, autostart: bool) -> str:
    # A small heap matters more here than the collector's processor time; with GOMEMLIMIT alone, it would double.
    environment = {
        "GOMEMLIMIT": f"{spec.memory_mib}MiB",
        "GOGC": "50",
        "PATH": f"{paths.programs}:{SYSTEM_PATH}",
        **spec.variables,
    }
    settings = {
        "command": shlex.join(spec.command(paths.programs)),
        "environment": ",".join(f'{name}="{value}"' for name, value in environment.items()),
        "autostart": str(autostart).lower(),
        "autorestart": "true",
        "startsecs": "1",
        "startretries": "2",
        **({"stopsignal": spec.stop_signal} if spec.stop_signal != "TERM" else {}),
        "redirect_stderr": "true",
        "stdout_logfile": str(log(paths, spec.name)),
        "stdout_logfile_maxbytes": "5MB",
        "stdout_logfile_backups": "1",
    }
    lines = (f"{key}={value}".replace("%", "%%") for key, value in settings.items())
    return f"\n[program:{spec.name}]\n" + "\n".join(lines) + "\n"


def log(paths: NodePaths, process: str) -> Path:
    """The log file of a process."""
    return paths.logs / f"{process}.log"


def last_error(path: Path) -> str:
    """The last error in a log, or else its last line."""
    try:
        lines = [line.strip() for line in path.read_text(errors="replace").splitlines()[-400:] if line.strip()]
    except OSError:
        return "(no log)"
    errors = [line for line in lines if _ERROR.search(line)]
    return (errors or lines or ["(its log is empty)"])[-1][:300]


@dataclass(frozen=True)
class State:
    """supervisord's state of one process."""

    name: str
    word: str
    started: int
    """Seconds since 1970; 0 if never."""
    pid: int
    """0 if it is not running."""

    @property
    def is_up(self) -> bool:
        return self.word in ("STARTING", "RUNNING")


class Supervisor:
    """A running supervisord, asked over its socket; any thread may."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket

    def _ask(self, method: str, *arguments: Any) -> Any:
        # A new connection for each request: supervisor's transport is not thread-safe.
        transport = SupervisorTransport(None, None, serverurl=f"unix://{self._socket}")
        with xmlrpc.client.ServerProxy("http://127.0.0.1", transport=transport) as server:
            try:
                return getattr(server.supervisor, method)(*arguments)
            except http.client.HTTPException as error:
                raise ConnectionError(f"supervisord: {error!r}") from None

    def states(self) -> dict[str, State]:
        """Every process's state; OSError while supervisord does not answer."""
        answer = self._ask("getAllProcessInfo")
        return {
            info["name"]: State(info["name"], info["statename"], int(info["start"]), int(info["pid"]))
            for info in answer
        }

    def start(self, names: list[str]) -> None:
        """Starts those that are not running, without waiting for them."""
        states = self.states()
        for name in names:
            if not states[name].is_up:
                try:
                    self._ask("startProcess", name, False)
                except xmlrpc.client.Fault as error:
                    if "ALREADY_STARTED" not in error.faultString:
                        raise UserError(f"{name}: supervisord cannot start it: {error.faultString}") from None

    def stop(self, name: str, *, wait: bool = True) -> None:
        """Asks one to end and does not start it again. `wait`: return once it has ended."""
        self._ask("stopProcess", name, wait)


class CrashWatch:
    """Distinguishes crashing from starting. supervisord only gives up on immediate crashes, not on later ones."""

    _LIMIT = 4

    def __init__(self, paths: NodePaths, supervised: Supervisor) -> None:
        self._paths, self._supervised = paths, supervised
        self._pids: dict[str, set[int]] = {}

    def check(self) -> None:
        """A UserError with a line for each process that started and ended too often since the watch began."""
        crashing = []
        for state in self._supervised.states().values():
            pids = self._pids.setdefault(state.name, set())
            pids.update({state.pid} - {0})
            if state.word == "FATAL" or len(pids) >= self._LIMIT:
                crashing.append(state.name)
        if crashing:
            lines = ((name, log(self._paths, name)) for name in crashing)
            raise UserError(*(f"{name} keeps crashing: {last_error(path)} (log: {path})" for name, path in lines))


def all_running(socket: Path) -> bool:
    """Whether a supervisord answers there, and all of its processes have been running for more than a moment."""
    try:
        states = Supervisor(socket).states()
    except OSError:
        return False
    return bool(states) and all(state.word == "RUNNING" for state in states.values())
