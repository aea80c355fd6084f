"""What pods of an agent have, without Pulumi: its code, its resources, the ports that it connects to."""

from dataclasses import dataclass

from tensorplane.core.paths import PACKAGE

API_SERVER_PORTS = (443, 6443)
"""The API server's ports: of its Service, and its own. No selector of a network policy matches its address."""


def files(program: str) -> dict[str, str]:
    """The code that pods of an agent mount, by path: its folder of `agents/`, and the modules that all agents share."""
    agents = PACKAGE / "agents"
    found = sorted([*agents.glob("*.py"), *(agents / program).glob("*.py"), *(agents / program).glob("*.html")])
    return {path.relative_to(PACKAGE).as_posix(): path.read_text() for path in found}


@dataclass(frozen=True)
class Resources:
    """CPU and memory that the container requests, and the memory at which it is killed, as Kubernetes quantities."""

    cpu: str
    memory: str
    memory_limit: str


def command(program: str) -> list[str]:
    """What starts it, before its arguments."""
    return ["python3", "-m", f"agents.{program}"]
