"""A ValidatingAdmissionPolicy with its binding: what the API server refuses, whoever sends it. Kubernetes has them from
1.30 on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tensorplane.components.base.labels import NAMESPACE_NAME, labels
from tensorplane.components.base.sdk import k8s, pulumi


@dataclass(frozen=True)
class AdmissionPolicy:
    """What the policy judges in which namespaces."""

    stack: str
    """The stack's own namespace, which the names of its policies begin with."""
    suffix: str
    spec: Mapping[str, Any]
    namespaces: Sequence[Mapping[str, Any]]
    """Expressions that the labels of the namespaces match."""

    @property
    def name(self) -> str:
        """Of the policy, and of its binding."""
        return f"{self.stack}{self.suffix}"

    def bind(self, opts: pulumi.ResourceOptions, action: pulumi.Output[str] | None = None) -> pulumi.Resource:
        """Creates the policy and its binding, which is returned. `action`: `deny`, the default, or `warn`."""
        about: Any = {"name": self.name, "labels": labels(self.stack, "queue")}
        rules: Any = {"failure_policy": "Fail", **self.spec}
        policy = k8s.admissionregistration.v1.ValidatingAdmissionPolicy(
            self.name, metadata=about, spec=rules, opts=opts
        )
        force: Any = {
            "policy_name": self.name,
            "validation_actions": [action.apply(str.capitalize) if action else "Deny"],
            "match_resources": {"namespace_selector": {"match_expressions": list(self.namespaces)}},
        }
        after = pulumi.ResourceOptions(
            depends_on=[policy],
            # A dry run of the update merges both actions of a binding, and the API server refuses `Deny` beside `Warn`.
            replace_on_changes=["spec.validationActions"],
            delete_before_replace=True,
        )
        after = pulumi.ResourceOptions.merge(opts, after)
        return k8s.admissionregistration.v1.ValidatingAdmissionPolicyBinding(
            self.name, metadata=about, spec=force, opts=after
        )


def match_namespaces(namespaces: Iterable[str]) -> list[dict[str, Any]]:
    """The namespaces with these names."""
    return [{"key": NAMESPACE_NAME, "operator": "In", "values": sorted(namespaces)}]


def matched(resources: Mapping[str, Sequence[str]], operations: Sequence[str] = ("CREATE", "UPDATE")) -> dict[str, Any]:
    """The resources that a policy judges, by API group."""
    return {
        "resource_rules": [
            {"api_groups": [group], "api_versions": ["*"], "operations": list(operations), "resources": list(names)}
            for group, names in resources.items()
        ]
    }


def same(path: str) -> str:
    """Whether an update leaves this as it is, in CEL."""
    return f"dyn(object).{path} == dyn(oldObject).{path}"
