"""What this machine shows of an instance, looked for by other means than the code's own."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tensorplane.embedded.instance import Instance

_LOOKS = {
    "mount": "cat /proc/self/mountinfo",
    "interface": "ip -br link",
    "namespace": "ip netns list",
    "route": "ip route show table all",
    "packet rules": "nft list ruleset | grep -E 'tensorplane|kube-proxy'",
    "cgroup": "find /sys/fs/cgroup -maxdepth 2",
    "file": "find /run/tensorplane /run/netns /var/lib/cni 2>/dev/null",
}


def remains(instance: Instance) -> list[str]:
    """A line for each thing, with its kind; none of another instance, whose names may begin with this one's."""
    names = (instance.home, instance.run, instance.namespace, instance.uplink, "pods0")
    ranges = (instance.pod_cidr, instance.service_cidr)
    any_of = "|".join(re.escape(str(name)) for name in (*names, *ranges))
    # The network plugins append a sandbox's ID.
    ours = re.compile(rf"(?<![\w-])(?:{any_of})(?:-[0-9a-f]{{64}}-|(?![\w-]))")
    found = {
        what: subprocess.run(look, shell=True, capture_output=True, text=True).stdout for what, look in _LOOKS.items()
    }
    lines = [
        f"{what}: {line}"
        for what, text in found.items()
        for line in text.splitlines()
        if what == "packet rules" or ours.search(line)
    ]
    return lines + [f"process: {pid}" for pid in _processes(instance)]


def _processes(instance: Instance) -> list[str]:
    """Those that name the instance's home, or are in its cgroup; not the dead that wait for their parent."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                command, groups = (folder / "cmdline").read_bytes().decode(), (folder / "cgroup").read_text()
                is_dead = "State:\tZ" in (folder / "status").read_text()
            except OSError:
                continue
            if not is_dead and (str(instance.home) in command or f"/{instance.namespace}/" in groups):
                found.append(folder.name)
    return found
