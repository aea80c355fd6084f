"""Checks of how clients reach a model server."""

import ipaddress
from collections.abc import Iterator, Mapping

from tensorplane.components.base.cidr import network_of
from tensorplane.components.base.problems import Key, Note, Problem, did_you_mean
from tensorplane.components.base.produced import known
from tensorplane.components.clusters.allowed_cidrs import too_many
from tensorplane.workloads.family import Declared, WorkloadArgs
from tensorplane.workloads.model_server.exposure.settings import GatewayArgs, LoadBalancerArgs
from tensorplane.workloads.model_server.settings import ServerSettings


def find_problems(settings: ServerSettings, name: str, at: Key, declared: Declared) -> Iterator[Problem]:
    """Problems of `expose` and `clients`. `at`: the path of the settings of the server `name`."""
    expose, here = settings.expose, (*at, "expose")
    if isinstance(expose, LoadBalancerArgs):
        yield from _load_balancer(expose, here, declared)
        if settings.clients is not None and not expose.allowed_cidrs:
            reason = "missing, but clients let in no address behind the load balancer; list those that may connect"
            yield Problem((*here, "allowedCidrs"), reason, given=((*at, "clients"),))
    if isinstance(expose, GatewayArgs):
        yield from _gateway(expose, here)
        yield from _of_class(expose, here, declared)
    for index, client in enumerate(settings.clients or ()):
        if client.workload and client.workload not in declared.workloads:
            known = sorted(declared.workloads - {name})
            near = did_you_mean(client.workload, known)
            reason = f"no workload is named {client.workload!r}; choose one of {', '.join(known) or 'none'}{near}"
            yield Problem((*at, "clients", str(index), "workload"), reason)


def _of_class(expose: GatewayArgs, at: Key, declared: Declared) -> Iterator[Problem]:
    """Problems of a Gateway that the stack creates: the cluster must have its class, and it must check clients."""
    if not (new := expose.create):
        return
    classes, path = declared.cluster.gateway_classes, (*at, "create", "gatewayClass")
    if classes is not None and new.gateway_class not in classes:
        reason = f"{declared.cluster.kind} clusters have no GatewayClass {new.gateway_class}"
        yield Problem(path, f"{reason}; use {' or '.join(sorted(classes))}", given=(("cluster",),))
    if new.is_traefiks:
        keys = {("jwt",): expose.jwt, ("create", "clientAuthority"): new.client_authority}
        for key in (key for key, value in keys.items() if value):
            reason = "only Envoy Gateway can check that, and Traefik would let in everyone; use another gatewayClass"
            yield Problem((*at, *key), reason, given=(path,))


def find_problems_between(workloads: Mapping[Key, WorkloadArgs]) -> Iterator[Problem]:
    """Problems of servers that create the same Gateway, or share a host of one."""
    gateways: dict[Key, GatewayArgs] = {}
    for at, workload in workloads.items():
        expose = workload.expose if isinstance(workload, ServerSettings) else None
        if isinstance(expose, GatewayArgs):
            gateways[at] = expose
    yield from _same_hosts(gateways)
    creators: dict[str, str] = {}
    for at, expose in gateways.items():
        if expose.create:
            first = creators.setdefault(expose.name, at[-1])
            if first != at[-1]:
                reason = f"model server {first} creates the Gateway {expose.name}, too; use another name"
                yield Problem((*at, "expose", "name"), reason, given=((*at, "expose", "create"),))


def _same_hosts(gateways: Mapping[Key, GatewayArgs]) -> Iterator[Problem]:
    """Hosts of a Gateway of which another server has a route: the older route gets all requests."""
    owners: dict[tuple[str, str | None, str], Key] = {}
    for at, expose in gateways.items():
        for key, hosts in (("hosts", expose.hosts), ("grpcHosts", expose.grpc_hosts)):
            for host in hosts:
                first = owners.setdefault((expose.name, expose.namespace, host), at)
                if first != at:
                    reason = f"{host} is also a host of model server {first[-1]}, whose route gets its requests"
                    yield Problem((*at, "expose", key), f"{reason}; use another host", given=((*first, "expose"),))


def notes(workloads: Mapping[Key, WorkloadArgs]) -> Iterator[Note]:
    """Notes about load balancers that let in far more than one organisation."""
    for at, server in workloads.items():
        expose = server.expose if isinstance(server, ServerSettings) else None
        if isinstance(expose, LoadBalancerArgs) and expose.public:
            written = [cidr for given in expose.allowed_cidrs if (cidr := known(given)) is not None]
            found = [network for cidr in written if not isinstance(network := network_of(cidr), str)]
            if who := too_many(found):
                text = f"allows {who}, and TensorFlow Serving has no authentication; list the addresses of its clients"
                yield Note((*at, "expose", "allowedCidrs"), text)


def _load_balancer(expose: LoadBalancerArgs, at: Key, declared: Declared) -> Iterator[Problem]:
    cluster = declared.cluster
    if not cluster.load_balancers:
        reason = f"{cluster.kind} clusters have no load balancers; remove expose, or use another cluster"
        yield Problem((*at, "kind"), reason, given=(("cluster",),))
    elif cluster.load_balancer(public=False) is None and not expose.public and not expose.annotations:
        reason = f"which annotation keeps a load balancer internal on an {cluster.kind} cluster is unknown"
        yield Problem((*at, "annotations"), f"{reason}; set it, or set public: true", given=(("cluster",),))
    if expose.public and not expose.allowed_cidrs:
        reason = "missing, but public is true, and TensorFlow Serving has no authentication"
        yield Problem((*at, "allowedCidrs"), f"{reason}; list the addresses that may connect", given=((*at, "public"),))
    for index, given in enumerate(expose.allowed_cidrs):
        cidr = known(given)
        if cidr is not None and not isinstance(found := network_of(cidr), ipaddress.IPv4Network):
            yield Problem((*at, "allowedCidrs", str(index)), found)


def _gateway(expose: GatewayArgs, at: Key) -> Iterator[Problem]:
    if not expose.hosts and not expose.grpc_hosts:
        yield Problem((*at, "hosts"), "required setting is missing; set it, or grpcHosts for gRPC alone")
    for host in sorted({*expose.hosts} & {*expose.grpc_hosts}):
        reason = f"{host} is in hosts, too, and the Gateway API allows a host REST or gRPC; use another host"
        yield Problem((*at, "grpcHosts"), reason, given=((*at, "hosts"),))
    if expose.create and expose.namespace:
        reason = "conflicts with create, which creates the Gateway in the stack's namespace; remove one of them"
        yield Problem((*at, "namespace"), reason, given=((*at, "create"),))
