"""Clusters of clouds: who reaches their API, what is encrypted, logged and protected."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from stack_view.rule import Config, Finding, Rule, Severity, of_each
from stack_view.schemas import flag, number
from stack_view.view import Resource, View, at, known, maps

_EKS = "aws:eks/cluster:Cluster"
_GKE = "gcp:container/cluster:Cluster"
_AKS = "azure-native:containerservice:ManagedCluster"
_DIAGNOSTICS = "azure-native:monitor:DiagnosticSetting"
_ALL_ADDRESSES = frozenset({"0.0.0.0/0", "::/0"})
_AUDIT = ("kube-audit", "kube-audit-admin")
_GKE_KEY = "gcp:kms/cryptoKey:CryptoKey"


def _endpoint(resource: Resource, view: View, config: Config) -> Iterator[Finding]:
    open_to = _allowed_networks(resource)
    if _ALL_ADDRESSES & set(open_to):
        remedy = "make its endpoint private, or list the networks of those who use it"
        yield Finding("its API server can be reached from every address", remedy)
    if resource.type == _EKS and at(resource.body, "vpcConfig", "endpointPrivateAccess") is not True:
        remedy = "set `vpcConfig.endpointPrivateAccess: true`"
        yield Finding("its nodes reach its API server over the internet", remedy)


def _allowed_networks(resource: Resource) -> list[Any]:
    """The networks that reach the API server. One that only the update knows is a resource's, not everywhere."""
    body = resource.body
    if resource.type == _EKS and known(body, "vpcConfig", "endpointPublicAccess") is not False:
        return list(known(body, "vpcConfig", "publicAccessCidrs") or _ALL_ADDRESSES)
    if resource.type == _GKE and known(body, "privateClusterConfig", "enablePrivateEndpoint") is not True:
        networks = known(body, "masterAuthorizedNetworksConfig")
        blocks = (
            maps(networks, "cidrBlocks") if networks is not None else [{"cidrBlock": each} for each in _ALL_ADDRESSES]
        )
        return [at(one, "cidrBlock") for one in blocks]
    if resource.type == _AKS and known(body, "apiServerAccessProfile", "enablePrivateCluster") is not True:
        return list(known(body, "apiServerAccessProfile", "authorizedIPRanges") or _ALL_ADDRESSES)
    return []


def _secrets(resource: Resource, view: View, config: Config) -> Iterator[Finding]:
    remedy = "encrypt them with a key of your own (KMS), which can be rotated and withdrawn"
    if resource.type in _KEYS and not _KEYS[resource.type](resource.body):
        yield Finding("its Secrets are not encrypted with a key of the stack", remedy)


def _eks_key(body: Mapping[str, Any]) -> bool:
    encrypts = "secrets" in (known(body, "encryptionConfig", "resources") or ())
    return encrypts and at(body, "encryptionConfig", "provider", "keyArn") is not None


_KEYS: Mapping[str, Callable[[Mapping[str, Any]], bool]] = {
    _EKS: _eks_key,
    _GKE: lambda body: at(body, "databaseEncryption", "state") == "ENCRYPTED",
    _AKS: lambda body: at(body, "securityProfile", "azureKeyVaultKms", "enabled") is True,
}


def _audit(resource: Resource, view: View, config: Config) -> Iterator[Finding]:
    if resource.type == _EKS and "audit" not in (known(resource.body, "enabledClusterLogTypes") or ()):
        yield Finding("its audit log is off", "add `audit` to `enabledClusterLogTypes`")
    if resource.type == _GKE and "APISERVER" not in (known(resource.body, "loggingConfig", "enableComponents") or ()):
        yield Finding("the log of its API server is off", "add `APISERVER` to `loggingConfig.enableComponents`")
    if resource.type == _AKS and not any(_logs_audit(one) for one in view.of(_DIAGNOSTICS)):
        remedy = "add a DiagnosticSetting with the category kube-audit-admin"
        yield Finding("its audit log is off", remedy)


def _logs_audit(setting: Resource) -> bool:
    logs = maps(setting.body, "logs")
    return any(at(one, "category") in _AUDIT and at(one, "enabled") is True for one in logs)


def _retention(resource: Resource, view: View, config: Config) -> Iterator[Finding]:
    is_of_cluster = str(at(resource.body, "name")).startswith("/aws/eks/")
    if not is_of_cluster and resource.type != "azure-native:operationalinsights:Workspace":
        return
    days = known(resource.body, "retentionInDays") or 0
    if days and days < config["minDays"]:
        problem = f"the cluster's logs are kept for {days:g} days; at least {config['minDays']:g} are required"
        yield Finding(problem, f"raise `retentionInDays`, or lower minDays in {view.config}")


def _deletion(resource: Resource, view: View, config: Config) -> Iterator[Finding]:
    if not config["required"]:
        return
    remedy = f"turn deletion protection on, or set required: false in {view.config}"
    protected = {
        _EKS: at(resource.body, "deletionProtection") is True,
        _GKE: at(resource.body, "deletionProtection") is not False,
        _AKS: resource.protected,
    }
    if not protected.get(resource.type, True):
        yield Finding("one `pulumi destroy`, or one click, deletes the cluster", remedy)


def _rotation(resource: Resource, view: View, config: Config) -> Iterator[Finding]:
    if resource.type == "aws:kms/key:Key" and at(resource.body, "enableKeyRotation") is not True:
        yield Finding("its key is never rotated", "set `enableKeyRotation: true`")
    symmetric = at(resource.body, "purpose") in (None, "ENCRYPT_DECRYPT")
    if resource.type == _GKE_KEY and symmetric and at(resource.body, "rotationPeriod") is None:
        yield Finding("its key is never rotated", "set `rotationPeriod`")


_TAGS = ["cluster", "security"]

POLICIES = [
    Rule(
        of_each(_endpoint),
        name="cluster-endpoint",
        description="API servers are private, or reached from listed networks.",
        remedy="Make the endpoint private, or list the networks.",
        severity=Severity.CRITICAL,
        tags=_TAGS,
    ),
    Rule(
        of_each(_secrets),
        name="cluster-secrets",
        description="Clusters encrypt Secrets with a key of their owner.",
        remedy="Configure a KMS key.",
        severity=Severity.HIGH,
        tags=_TAGS,
    ),
    Rule(
        of_each(_audit),
        name="cluster-audit-logs",
        description="Clusters write audit logs.",
        remedy="Turn the audit log on.",
        severity=Severity.HIGH,
        tags=_TAGS,
    ),
    Rule(
        of_each(_retention),
        name="cluster-log-retention",
        description="Logs of clusters are kept for at least `minDays`; 0 in the resource means forever.",
        remedy="Raise retentionInDays.",
        severity=Severity.MEDIUM,
        tags=_TAGS,
        config={"minDays": number(90)},
    ),
    Rule(
        of_each(_deletion),
        name="cluster-deletion-protection",
        description="Clusters are protected from deletion, unless `required` is false.",
        remedy="Turn deletion protection on.",
        severity=Severity.HIGH,
        tags=_TAGS,
        config={"required": flag(True)},
    ),
    Rule(
        of_each(_rotation),
        name="key-rotation",
        description="Keys for encryption rotate.",
        remedy="Turn rotation on.",
        severity=Severity.MEDIUM,
        tags=["kms", "security"],
    ),
]
