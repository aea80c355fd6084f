"""The shared Go module of the tools: what is built from it, in which sets."""

from __future__ import annotations

import re
from collections import Counter

from tensorplane.toolchain import go_module
from tensorplane.toolchain.golang import MODULES

SETS = (
    go_module.kubernetes(),
    go_module.containerd(),
    go_module.csi(),
    go_module.csi_sanity(),
    go_module.kwok(),
    go_module.pulumi(),
)


def test_each_tool_of_the_shared_module_is_built_in_one_set() -> None:
    text = (MODULES / "tools" / "go.mod").read_text()
    tools = re.search(r"^tool \(\n(.*?)^\)", text, re.MULTILINE | re.DOTALL)
    assert tools
    mains = [f"./{path.parent.name}" for path in (MODULES / "tools").glob("*/main.go")]
    assert Counter(package for each in SETS for package in each.only) == Counter([*tools[1].split(), *mains])


def test_a_set_has_the_names_that_its_programs_are_called_by() -> None:
    programs = go_module.kubernetes().programs
    assert {"kube", "kubelet", "kube-apiserver", "kubectl", "helm", "bridge"} <= set(programs)
    assert programs == sorted(set(programs))
