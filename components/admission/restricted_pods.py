"""CEL rules for pod templates: which settings they lack for the Pod Security level `restricted`."""

_PROFILES = "['RuntimeDefault', 'Localhost']"
_VOLUMES = ("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected")
_KINDS = f"[{', '.join(repr(kind) for kind in (*_VOLUMES, 'secret'))}]"
_PER_CONTAINER = "in each container securityContext."


def containers(spec: str) -> str:
    """All containers of a pod's spec."""
    return f"({spec}.containers + {spec}.?initContainers.orValue([]))"


def missing(templates: str) -> str:
    """A CEL expression for the settings that these pod templates lack, as text; empty if they lack none."""
    remedies = ", ".join(f"{templates}.all(template, {rule}) ? '' : '{remedy}'" for remedy, rule in _RULES.items())
    return f"[{remedies}].filter(lacking, lacking != '').join('; ')"


def _each(rule: str) -> str:
    """A rule about every container, `one`."""
    return f"{containers('template.spec')}.all(one, {rule})"


def _everywhere(part: str, rule: str) -> str:
    """A rule about a field of the security contexts, `it`: of the pod and of each container, where it is set."""
    found = f"[{_POD}.?{part}] + {containers('template.spec')}.map(one, {_ONE}.?{part})"
    return f"({found}).all(it, !it.hasValue() || ({rule}))"


def _without_host(part: str, *handlers: str) -> str:
    """A rule about a probe or handler: it has no host, so that it connects to the pod itself."""
    fields = ", ".join(f"one.?{part}.?{handler}" if handler else f"one.?{part}" for handler in handlers)
    return _each(f"[{fields}].all(it, it.?httpGet.?host.orValue('') == '' && it.?tcpSocket.?host.orValue('') == '')")


_POD, _ONE = "template.spec.?securityContext", "one.?securityContext"
_SELINUX = "['', 'container_t', 'container_init_t', 'container_kvm_t', 'container_engine_t']"
_SYSCTLS = (
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ping_group_range",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_wmem",
)
_SAFE = f"[{', '.join(map(repr, _SYSCTLS))}]"
_APPARMOR = "container.apparmor.security.beta.kubernetes.io/"
_POD_PROFILE = f"{_POD}.?seccompProfile.?type.orValue('')"
_RULES = {
    "spec.securityContext.runAsNonRoot: true": _each(
        f"{_ONE}.?runAsNonRoot.orValue({_POD}.?runAsNonRoot.orValue(false))"
    ),
    "spec.securityContext.runAsUser: 1 or more": f"{_POD}.?runAsUser.orValue(1) != 0 && "
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
    "no hostPort in any container": _each("one.?ports.orValue([]).all(port, port.?hostPort.orValue(0) == 0)"),
    "in spec.volumes only claims, configMap, secret, emptyDir, projected, downwardAPI, csi, image and ephemeral": (
        f"template.spec.?volumes.orValue([]).all(volume, volume.size() == 1 || {_KINDS}.exists(kind, kind in volume))"
    ),
    "in seLinuxOptions only type: container_t, container_init_t, container_kvm_t or container_engine_t": _everywhere(
        "seLinuxOptions",
        f"it.value().?type.orValue('') in {_SELINUX}"
        " && it.value().?user.orValue('') == '' && it.value().?role.orValue('') == ''",
    ),
    "appArmorProfile.type: RuntimeDefault or Localhost": _everywhere(
        "appArmorProfile", f"it.value().?type.orValue('') in {_PROFILES}"
    )
    + f" && template.?metadata.?annotations.orValue({{}}).all(key, !key.startsWith('{_APPARMOR}')"
    " || template.metadata.annotations[key].matches('^($|runtime/default$|localhost/)'))",
    "in spec.securityContext.sysctls only safe sysctls": (f"{_POD}.?sysctls.orValue([]).all(one, one.name in {_SAFE})"),
    f"{_PER_CONTAINER}procMount: Default": _each(f"{_ONE}.?procMount.orValue('Default') == 'Default'"),
    "windowsOptions.hostProcess: false": _everywhere("windowsOptions", "!it.value().?hostProcess.orValue(false)"),
    "no host in probes and lifecycle handlers": " && ".join(
        (
            *(_without_host(probe, "") for probe in ("livenessProbe", "readinessProbe", "startupProbe")),
            _without_host("lifecycle", "postStart", "preStop"),
        )
    ),
}
"""The setting to add, and the rule that holds with it: every check of the level, including those of `baseline`."""
