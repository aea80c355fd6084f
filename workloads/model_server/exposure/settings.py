"""How clients outside of the stack reach a model server, and which clients inside do."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from tensorplane.components.base.family import Variant
from tensorplane.components.base.model import (
    In,
    Line,
    Model,
    Name,
    NonEmptyStr,
    ObjectName,
    is_object_name,
    refuse_all_but,
)
from tensorplane.components.versions import GATEWAY_CLASS


class ClientArgs(Model):
    """Pods that may connect: exactly one of these."""

    workload: Name | None = None
    """The pods of a workload in the stack's namespace."""
    namespace: Name | None = None
    """All pods of a namespace of the cluster, such as that of the gateway or of Prometheus."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        if len(self.model_fields_set) != 1:
            refuse_all_but("one of workload and namespace")
        return self


class ExposureArgs(Variant, family=True):
    """How clients outside of the cluster's network reach a model server."""

    kind: str


class LoadBalancerArgs(ExposureArgs):
    """A load balancer of the cloud for REST and gRPC. It has no TLS and no authentication."""

    kind: Literal["loadBalancer"] = "loadBalancer"

    public: bool = False
    """Whether it has a public address; by default only the cloud's network reaches it. Requires `allowedCidrs`."""
    allowed_cidrs: tuple[In[NonEmptyStr], ...] = ()
    """Addresses that may connect, such as 203.0.113.0/24; by default all that reach it."""
    annotations: dict[NonEmptyStr, In[Line]] = Field(default_factory=dict)
    """Further annotations of the Service, for the cloud's load balancers. On an existing cluster, those that keep the
    load balancer internal, which differ between clouds."""


def _check_https(value: str) -> str:
    if not value.startswith("https://"):
        refuse_all_but("a URL with https://")
    return value


def _check_host_name(value: str) -> str:
    if not _is_host_name(value):
        bare = value.lower().partition("://")[2] or value.lower()
        near = bare.partition("/")[0].partition(":")[0]
        rule = "the name of a host in lower-case letters, such as digits.example.org"
        refuse_all_but(rule, near if _is_host_name(near) else "")
    return value


def _is_host_name(value: str) -> bool:
    return is_object_name(value) and "." in value and value[-1].isalpha()


HostName = Annotated[str, AfterValidator(_check_host_name)]
Url = Annotated[NonEmptyStr, AfterValidator(_check_https)]


class JwtArgs(Model):
    """JSON Web Tokens that clients must send, checked by the gateway. Only Envoy Gateway can."""

    issuer: In[NonEmptyStr]
    """The issuer that the tokens must name."""
    audiences: Annotated[tuple[In[NonEmptyStr], ...], Field(min_length=1)]
    """Audiences of which the tokens must name one."""
    jwks: In[Url]
    """URL of the issuer's public keys."""


class NewGatewayArgs(Model):
    """A Gateway that the stack creates."""

    gateway_class: ObjectName
    """GatewayClass of the cluster; `traefik` is that of the Traefik which the stack installs."""
    certificate: In[ObjectName]
    """Secret of type `kubernetes.io/tls` in the stack's namespace, for all hosts."""
    client_authority: In[ObjectName] | None = None
    """ConfigMap of the stack's namespace with `ca.crt`: clients must have a certificate of this authority. Only Envoy
    Gateway can check that."""

    @property
    def is_traefiks(self) -> bool:
        """Whether it is a Gateway of Traefik's class."""
        return self.gateway_class == GATEWAY_CLASS


class GatewayArgs(ExposureArgs):
    """Routes of the Gateway API to the server, from an existing Gateway or one that the stack creates."""

    kind: Literal["gateway"] = "gateway"

    name: ObjectName
    """Name of the Gateway."""
    namespace: Name | None = None
    """Namespace of an existing Gateway, which must allow routes of the stack's namespace; by default the stack's."""
    create: NewGatewayArgs | None = None
    """Creates the Gateway in the stack's namespace. Required settings: its class and its certificate."""
    hosts: tuple[HostName, ...] = ()
    """Host names for REST. No other route of the Gateway may have them."""
    grpc_hosts: tuple[HostName, ...] = ()
    """Host names for gRPC. The Gateway API demands others than for REST."""
    jwt: JwtArgs | None = None
    """Tokens that clients must send; by default, the gateway lets in everyone who reaches it."""
