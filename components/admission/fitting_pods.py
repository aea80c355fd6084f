"""CEL rules for pod templates: whether the pods fit the nodes of the flavors that Kueue may assign to them.

A quota is a number of GPUs, on any node. For a flavor with a topology, Kueue looks for nodes with free capacity. For
other flavors, it would admit a pod with 8 GPUs to nodes with 4: the pod stays pending and holds the quota.
"""

from collections.abc import Mapping, Sequence

from tensorplane.components.admission import cel
from tensorplane.components.base.labels import ACCELERATOR, TOPOLOGY_PREFIX
from tensorplane.components.catalog import GPU_RESOURCE
from tensorplane.components.queues.flavors import Flavor

Kinds = Mapping[str, Sequence[Flavor]]
"""The flavors of each queue."""
_BEGIN, _END = TOPOLOGY_PREFIX, "-topology"
_ANNOTATIONS = "template.?metadata.?annotations"
_PLACED = f"{_ANNOTATIONS}.orValue({{}}).exists(key, key.startsWith('{_BEGIN}') && key.endsWith('{_END}'))"
"""Whether a template has an annotation for topology-aware scheduling."""
_QUEUE, _TEMPLATES = "variables.queue", "variables.templates"


def variables(kinds: Kinds) -> list[dict[str, str]]:
    """Variables of the rules: labels, taints and GPUs per node of each flavor."""
    all_of = {flavor.name: flavor for found in _sized(kinds).values() for flavor in found}.values()
    own = {f.name: sorted({t.key for t in f.taints} - {t.key for t in f.tolerations}) for f in all_of}
    found = {
        "kinds": cel.map_of({name: _names(flavors) for name, flavors in _sized(kinds).items()}),
        "labels": cel.map_of(
            {f.name: cel.map_of({key: cel.text(value) for key, value in f.labels.items()}) for f in all_of}
        ),
        "taints": cel.map_of({name: cel.list_of(keys) for name, keys in own.items()}),
        "sizes": cel.map_of({f.name: str(f.per_pod) for f in all_of}),
    }
    return [{"name": name, "expression": expression} for name, expression in found.items()] if all_of else []


def rules(kinds: Kinds, when: str) -> list[dict[str, str]]:
    """Validations of the variable `templates` of a job in `queue`, under the condition `when`."""
    gpus = {name: [flavor for flavor in found if flavor.is_gpu] for name, found in kinds.items()}
    by_node = {name: [flavor for flavor in found if flavor.levels] for name, found in gpus.items()}
    levels = sorted({label for found in by_node.values() for flavor in found for label in flavor.levels})
    mixed = [name for name, found in by_node.items() if found and len(found) < len(kinds[name])]
    unplaced = [name for name, found in gpus.items() if found and not by_node[name]]
    placed = [name for name, found in by_node.items() if found]
    sized = {name: found for name, found in _sized(kinds).items() if found}
    found = [
        (list(sized), f"{_TEMPLATES}.all(template, {_fits(levels != [])})", {"message_expression": _too_small(sized)}),
        (mixed, f"{_TEMPLATES}.all(template, {_gpus('template.spec')} == 0 || {_PLACED})", {"message": _ASK}),
        (unplaced, f"!{_TEMPLATES}.exists(template, {_PLACED})", {"message": _ASK_NOT}),
        (
            placed,
            f"{_TEMPLATES}.all(template, ['required', 'preferred'].all(how,"
            f" {_ANNOTATIONS}[?'{_BEGIN}' + how + '{_END}'].orValue({cel.text(''.join(levels[:1]))})"
            f" in {cel.list_of(levels)}))",
            {"message": f"{_BEGIN}…{_END}: unknown topology level; choose one of {', '.join(levels)}"},
        ),
    ]
    return [
        {"expression": f"!({when}) || !({_QUEUE} in {cel.list_of(queues)}) || {rule}", **message}
        for queues, rule, message in found
        if queues
    ]


_ASK = (
    "metadata.annotations: this queue only admits pods with GPUs that request topology-aware scheduling; set in their"
    f' pod templates metadata.annotations: {{{_BEGIN}unconstrained{_END}: "true"}}'
)
_ASK_NOT = (
    f"{_BEGIN}…{_END}: the flavors of this queue have no topology, so Kueue would never admit these pods; remove the"
    " annotation from the pod templates"
)


def _too_small(sized: Kinds) -> str:
    per_node = cel.map_of(
        {name: cel.text(", ".join(f"{f.name} {f.per_pod}" for f in found)) for name, found in sized.items()}
    )
    return (
        f"'spec.nodeSelector: a pod requests more GPUs than a node of queue ' + {_QUEUE} + ' may have (' +"
        f" {per_node}[{_QUEUE}] + '), and would stay pending; set in the pod template spec.nodeSelector:"
        f" {{{ACCELERATOR}: …}} to an accelerator with enough GPUs per node'"
    )


def _fits(by_node: bool) -> str:
    """Whether a template's pods fit every flavor that Kueue may assign; with a topology, one that fits is enough."""
    labels, each = "variables.labels[kind]", "variables.labels[kind][one.key]"
    selected = f"{labels}.all(key, template.spec.?nodeSelector[?key].orValue({labels}[key]) == {labels}[key])"
    matched = (
        f"!(one.key in {labels}) || (one.operator == 'In' ? {each} in one.values :"
        f" one.operator == 'NotIn' ? !({each} in one.values) : one.operator == 'Exists')"
    )
    wanted = "template.spec.?affinity.?nodeAffinity.?requiredDuringSchedulingIgnoredDuringExecution"
    terms = f"{wanted}.?nodeSelectorTerms.orValue([])"
    near = f"({terms}.size() == 0 || {terms}.exists(term, term.?matchExpressions.orValue([]).all(one, {matched})))"
    tolerated = (
        "variables.taints[kind].all(taint, template.spec.?tolerations.orValue([])"
        ".exists(one, one.?key.orValue(taint) == taint))"
    )
    reached = f"variables.kinds[{_QUEUE}].filter(kind, {selected} && {near} && {tolerated})"
    # If no flavor matches, the job is accepted: Kueue reports the reason in its Workload.
    how = "exists" if by_node else "all"
    enough = f"kinds.{how}(kind, variables.sizes[kind] >= {_gpus('template.spec')})"
    return f"[{reached}].all(kinds, kinds.size() == 0 || {enough})"


def _gpus(spec: str) -> str:
    """Number of GPUs that a pod's spec requests."""
    number = f"quantity(string(part[?'{GPU_RESOURCE}'].orValue('0'))).asInteger()"
    requested = f"[one.?resources.?limits, one.?resources.?requests].map(part, {number}).max()"
    return (
        f"[{spec}.containers.map(one, {requested}).sum(),"
        f" ([0] + {spec}.?initContainers.orValue([]).map(one, {requested})).max()].max()"
    )


def _sized(kinds: Kinds) -> dict[str, list[Flavor]]:
    """The flavors with a known number of GPUs per node."""
    return {name: [flavor for flavor in found if flavor.per_pod] for name, found in kinds.items()}


def _names(flavors: Sequence[Flavor]) -> str:
    return cel.list_of([flavor.name for flavor in flavors])
