"""Whether Kueue could give a job's pods to nodes that hold them, as CEL: asked of pod templates, before there are pods.

Quotas count GPUs, wherever they are. Kinds of machines with levels of the network are placed by node: Kueue looks for
room there. Of others it gives a pod of 8 GPUs nodes of 4, and the GPUs stay taken while the pod waits for ever.
"""

from collections.abc import Mapping, Sequence

from components.base.labels import ACCELERATOR, TOPOLOGY_PREFIX
from components.catalog import GPU_RESOURCE
from components.queues import cel
from components.queues.flavors import Flavor

Kinds = Mapping[str, Sequence[Flavor]]
"""The kinds of machines of each queue."""
_BEGIN, _END = TOPOLOGY_PREFIX, "-topology"
_ANNOTATIONS = "template.?metadata.?annotations"
_PLACED = f"{_ANNOTATIONS}.orValue({{}}).exists(key, key.startsWith('{_BEGIN}') && key.endsWith('{_END}'))"
"""Whether a template asks Kueue to place its pods."""
_QUEUE, _TEMPLATES = "variables.queue", "variables.templates"


def variables(kinds: Kinds) -> list[dict[str, str]]:
    """What the rules read, once for each request: what leads to each kind, what keeps off, and how much a node has."""
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
    """What must be true of the variables `templates` of a job in `queue`, where `when` is."""
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
            {"message": f"{_BEGIN}…{_END}: the network's levels here are {', '.join(levels)}; name one"},
        ),
    ]
    return [
        {"expression": f"!({when}) || !({_QUEUE} in {cel.list_of(queues)}) || {rule}", **told}
        for queues, rule, told in found
        if queues
    ]


_ASK = (
    "this queue admits pods where nodes have room for them, if they ask for that; set in each pod template with GPUs"
    f' metadata.annotations: {{{_BEGIN}unconstrained{_END}: "true"}}'
)
_ASK_NOT = (
    f"{_BEGIN}…{_END}: this queue leaves it to the scheduler which nodes pods get, and would never admit those that ask"
    " for it; remove the annotation from the pod templates"
)


def _too_small(sized: Kinds) -> str:
    told = cel.map_of(
        {name: cel.text(", ".join(f"{f.name} {f.per_pod}" for f in found)) for name, found in sized.items()}
    )
    return (
        f"'a pod would get a node with fewer GPUs than it asks for, and wait for ever; the nodes of queue ' + {_QUEUE}"
        f" + ' have ' + {told}[{_QUEUE}] + ': set in the pod template spec.nodeSelector: {{{ACCELERATOR}: …}} to the"
        " accelerator of one that has as many'"
    )


def _fits(by_node: bool) -> str:
    """Whether a template's pods fit all kinds that Kueue may give them; one of them, where it looks at the nodes."""
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
    # Of a job that no kind lets in, Kueue tells why.
    how = "exists" if by_node else "all"
    enough = f"kinds.{how}(kind, variables.sizes[kind] >= {_gpus('template.spec')})"
    return f"[{reached}].all(kinds, kinds.size() == 0 || {enough})"


def _gpus(spec: str) -> str:
    """How many GPUs a pod's spec asks for."""
    number = f"quantity(string(part[?'{GPU_RESOURCE}'].orValue('0'))).asInteger()"
    asked = f"[one.?resources.?limits, one.?resources.?requests].map(part, {number}).max()"
    return (
        f"[{spec}.containers.map(one, {asked}).sum(),"
        f" ([0] + {spec}.?initContainers.orValue([]).map(one, {asked})).max()].max()"
    )


def _sized(kinds: Kinds) -> dict[str, list[Flavor]]:
    """The kinds with GPUs whose nodes somebody describes."""
    return {name: [flavor for flavor in found if flavor.per_pod] for name, found in kinds.items()}


def _names(flavors: Sequence[Flavor]) -> str:
    return cel.list_of([flavor.name for flavor in flavors])
