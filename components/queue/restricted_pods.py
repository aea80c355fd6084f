"""What the Pod Security level `restricted` asks of pods, as CEL: what a pod template lacks, before there are pods."""

_PROFILES = "['RuntimeDefault', 'Localhost']"
_VOLUMES = ("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected")
_KINDS = f"[{', '.join(repr(kind) for kind in (*_VOLUMES, 'secret'))}]"
_PER_CONTAINER = "securityContext of each container: "


def containers(spec: str) -> str:
    """All containers of a pod's spec."""
    return f"({spec}.containers + {spec}.?initContainers.orValue([]))"


def missing(templates: str) -> str:
    """The CEL expression of what these pod templates lack, as a text; an empty one where nothing is."""
    told = ", ".join(f"{templates}.all(template, {rule}) ? '' : '{remedy}'" for remedy, rule in _RULES.items())
    return f"[{told}].filter(lacking, lacking != '').join('; ')"


def _each(rule: str) -> str:
    """A rule about every container, `one`."""
    return f"{containers('template.spec')}.all(one, {rule})"


_POD, _ONE = "template.spec.?securityContext", "one.?securityContext"
_POD_PROFILE = f"{_POD}.?seccompProfile.?type.orValue('')"
_RULES = {
    "spec.securityContext.runAsNonRoot: true": _each(
        f"{_ONE}.?runAsNonRoot.orValue({_POD}.?runAsNonRoot.orValue(false))"
    ),
    "spec.securityContext.runAsUser: above 0": f"{_POD}.?runAsUser.orValue(1) != 0 && "
    + _each(f"{_ONE}.?runAsUser.orValue(1) != 0"),
    "spec.securityContext.seccompProfile: {type: RuntimeDefault}": f"{_POD_PROFILE} in ([''] + {_PROFILES}) && "
    + _each(f"{_ONE}.?seccompProfile.?type.orValue({_POD_PROFILE}) in {_PROFILES}"),
    f"{_PER_CONTAINER}allowPrivilegeEscalation: false": _each(f"!{_ONE}.?allowPrivilegeEscalation.orValue(true)"),
    f"{_PER_CONTAINER}capabilities: {{drop: [ALL]}}": _each(
        f"'ALL' in {_ONE}.?capabilities.?drop.orValue([])"
        f" && {_ONE}.?capabilities.?add.orValue([]).all(name, name == 'NET_BIND_SERVICE')"
    ),
    f"{_PER_CONTAINER}privileged: false": _each(f"!{_ONE}.?privileged.orValue(false)"),
    "spec.hostNetwork, hostPID and hostIPC: false": " && ".join(
        f"!template.spec.?{key}.orValue(false)" for key in ("hostNetwork", "hostPID", "hostIPC")
    ),
    "no hostPort in containers": _each("one.?ports.orValue([]).all(port, port.?hostPort.orValue(0) == 0)"),
    "in spec.volumes only claims, configMap, secret, emptyDir, projected, downwardAPI, csi, image and ephemeral": (
        f"template.spec.?volumes.orValue([]).all(volume, volume.size() == 1 || {_KINDS}.exists(kind, kind in volume))"
    ),
}
"""What to add, and when a pod has it. Left out: sysctls, SELinux, AppArmor, procMount."""
