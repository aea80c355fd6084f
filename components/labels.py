"""The labels that every object carries, in Kubernetes' recommended keys."""

NAME = "app.kubernetes.io/name"
COMPONENT = "app.kubernetes.io/component"
PART_OF = "app.kubernetes.io/part-of"
TENSORPLANE = {PART_OF: "tensorplane", "app.kubernetes.io/managed-by": "pulumi"}


def labels(name: str, component: str) -> dict[str, str]:
    """The labels of one object: whose it is (`name`) and what part of it (`component`)."""
    return {NAME: name, COMPONENT: component, **TENSORPLANE}
