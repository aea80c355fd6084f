"""The restricted Pod Security Standard, on every pod of the stack and before the API server sees it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gpu_usage.manifest import UNKNOWN
from stack_view import pods
from stack_view.pods import Pod
from stack_view.rule import Config, Finding, Rule, Severity, of_each
from stack_view.schemas import EXEMPT_NAMESPACES
from stack_view.view import Resource, View, at, known, maps

_ENFORCE = "pod-security.kubernetes.io/enforce"
_HOSTS = ("hostNetwork", "hostPID", "hostIPC")
_VOLUMES = frozenset(
    {
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "image",
        "persistentVolumeClaim",
        "projected",
        "secret",
    }
)
_CAPABILITY = "NET_BIND_SERVICE"
_PROFILES = ("RuntimeDefault", "Localhost")
_SYSCTLS = frozenset(
    {
        *("kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.ip_unprivileged_port_start"),
        *("net.ipv4.tcp_syncookies", "net.ipv4.ping_group_range", "net.ipv4.ip_local_reserved_ports"),
        *("net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl"),
        *("net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"),
    }
)


def _pods(resource: Resource, config: Config) -> list[Pod]:
    return [] if resource.namespace in config["exemptNamespaces"] else pods.of(resource)


def _whole(resource: Resource, config: Config) -> Iterator[Pod]:
    """Pods that are written in full. A patch leaves the rest of a pod as it is."""
    return (pod for pod in _pods(resource, config) if not pod.manifest.is_patch)


def _privileges(resource: Resource, view: View, config: Config) -> Iterator[Finding]:
    for pod in _pods(resource, config):
        for path, one in pod.containers():
            context = known(one, "securityContext") or {}
            if at(context, "privileged") not in (None, False):
                yield Finding(f"`{path}` is privileged: it has every device of its node", "remove `privileged`")
            if at(context, "allowPrivilegeEscalation") not in (False, *_unchanged(pod)):
                remedy = "set `securityContext.allowPrivilegeEscalation: false`"
                yield Finding(f"`{path}` may gain more privileges than its parent process", remedy)
            if at(context, "procMount") not in (None, "Default"):
                yield Finding(f"`{path}` mounts an unmasked /proc", "remove `procMount`")


def _unchanged(pod: Pod) -> tuple[None, ...]:
    """What a missing setting means in a patch: nothing changes."""
    return (None,) if pod.manifest.is_patch else ()


def _host(resource: Resource, view: View, config: Config) -> Iterator[Finding]:
    for pod in _pods(resource, config):
        for key in _HOSTS:
            if at(pod.spec, key) not in (None, False):
                yield Finding(f"`{pod.dotted_path}.{key}` joins a namespace of the node", f"remove `{key}`")
        for path, one in pod.containers():
            if any(at(port, "hostPort") not in (None, 0) for port in maps(one, "ports")):
                yield Finding(f"`{path}` takes a port of its node", "remove `hostPort`, and use a Service")


def _volumes(resource: Resource, view: View, config: Config) -> Iterator[Finding]:
    for pod in _pods(resource, config):
        for volume in maps(pod.spec, "volumes"):
            for kind in sorted(volume.keys() - {"name"} - _VOLUMES):
                if volume[kind] is not None:
                    problem = f"volume {volume.get('name')} of `{pod.dotted_path}` is a {kind}"
                    yield Finding(
                        problem, "use a PersistentVolumeClaim, or one of the types of the restricted standard"
                    )


def _user(resource: Resource, view: View, config: Config) -> Iterator[Finding]:
    for pod in _whole(resource, config):
        for path, one in pod.containers():
            if _of(pod, one, "runAsNonRoot") is not True:
                yield Finding(f"`{path}` may run as root", "set `securityContext.runAsNonRoot: true` of its pod")
            elif _of(pod, one, "runAsUser") == 0:
                yield Finding(f"`{path}` runs as user 0", "set `securityContext.runAsUser` to another user")


def _capabilities(resource: Resource, view: View, config: Config) -> Iterator[Finding]:
    for pod in _whole(resource, config):
        for path, one in pod.containers():
            given = known(one, "securityContext", "capabilities") or {}
            if "ALL" not in _words(given, "drop"):
                remedy = "set `securityContext.capabilities.drop: [ALL]`"
                yield Finding(f"`{path}` keeps the default capabilities", remedy)
            for added in sorted(_words(given, "add") - {_CAPABILITY}):
                yield Finding(f"`{path}` adds the capability {added}", f"add none, or {_CAPABILITY} alone")


def _profiles(resource: Resource, view: View, config: Config) -> Iterator[Finding]:
    for pod in _pods(resource, config):
        for path, one in pod.containers():
            if at(_of(pod, one, "seccompProfile") or {}, "type") not in (*_PROFILES, *_unchanged(pod)):
                remedy = "set `securityContext.seccompProfile.type: RuntimeDefault` of its pod"
                yield Finding(f"`{path}` runs without a seccomp profile", remedy)
            if at(_of(pod, one, "appArmorProfile") or {}, "type") == "Unconfined":
                yield Finding(f"`{path}` runs without AppArmor", "remove `appArmorProfile`")
        for sysctl in maps(pod.spec, "securityContext", "sysctls"):
            if at(sysctl, "name") not in _SYSCTLS:
                problem = f"`{pod.dotted_path}` sets the sysctl {sysctl.get('name')}, which is not a safe one"
                yield Finding(problem, "remove it")


def _namespaces(resource: Resource, view: View, config: Config) -> Iterator[Finding]:
    manifest = resource.manifest
    if manifest and manifest.type == ("core", "Namespace") and not manifest.is_patch:
        level = at(manifest.body, "metadata", "labels", _ENFORCE)
        if level != "restricted" and manifest.metadata("name") not in config["exemptNamespaces"]:
            found = "no level" if level is None else "a level that is not known" if level is UNKNOWN else f"`{level}`"
            problem = f"the API server enforces {found} of Pod Security here; allowed is `restricted`"
            yield Finding(
                problem, f"label it {_ENFORCE}: restricted, or list it in `exemptNamespaces` in {view.config}"
            )


def _of(pod: Pod, container: Mapping[str, Any], key: str) -> Any:
    """A setting of a container's security context, or its pod's."""
    own = known(container, "securityContext") or {}
    return at(own, key) if key in own else at(known(pod.spec, "securityContext") or {}, key)


def _words(owner: Mapping[str, Any], key: str) -> set[str]:
    value = known(owner, key)
    return {str(each) for each in value} if isinstance(value, list) else set()


_TAGS = ["pods", "security"]

POLICIES = [
    Rule(
        of_each(_privileges),
        name="pod-privileges",
        description="No container is privileged or gains privileges.",
        remedy="Remove privileged and procMount, and set allowPrivilegeEscalation: false.",
        severity=Severity.CRITICAL,
        tags=_TAGS,
        config=EXEMPT_NAMESPACES,
    ),
    Rule(
        of_each(_host),
        name="pod-host-namespaces",
        description="Pods share no network, process or IPC namespace and no port with their node.",
        remedy="Remove hostNetwork, hostPID, hostIPC and hostPort.",
        severity=Severity.HIGH,
        tags=_TAGS,
        config=EXEMPT_NAMESPACES,
    ),
    Rule(
        of_each(_volumes),
        name="pod-volumes",
        description="Pods mount no path of their node: only volumes of the restricted standard.",
        remedy="Use a PersistentVolumeClaim.",
        severity=Severity.HIGH,
        tags=_TAGS,
        config=EXEMPT_NAMESPACES,
    ),
    Rule(
        of_each(_user),
        name="pod-user",
        description="No container runs as root.",
        remedy="Set runAsNonRoot: true, and a runAsUser other than 0.",
        severity=Severity.HIGH,
        tags=_TAGS,
        config=EXEMPT_NAMESPACES,
    ),
    Rule(
        of_each(_capabilities),
        name="pod-capabilities",
        description=f"Containers drop all capabilities, and add none but {_CAPABILITY}.",
        remedy="Set capabilities.drop: [ALL].",
        severity=Severity.HIGH,
        tags=_TAGS,
        config=EXEMPT_NAMESPACES,
    ),
    Rule(
        of_each(_profiles),
        name="pod-profiles",
        description="Containers run with seccomp, without unconfined AppArmor, and with safe sysctls.",
        remedy="Set seccompProfile.type: RuntimeDefault.",
        severity=Severity.MEDIUM,
        tags=_TAGS,
        config=EXEMPT_NAMESPACES,
    ),
    Rule(
        of_each(_namespaces),
        name="namespace-pod-security",
        description="Every namespace enforces the restricted Pod Security Standard.",
        remedy=f"Label the namespace {_ENFORCE}: restricted.",
        severity=Severity.HIGH,
        tags=_TAGS,
        config=EXEMPT_NAMESPACES,
    ),
]
