"""CEL rules for the priority of a team's job: it must be that of the job's queue.

Kueue accepts any WorkloadPriorityClass that a job's label names. These are cluster-scoped, so a team could name that of
a queue which it may not use. Without the label, Kueue uses the PriorityClass of the pods; the scheduler always uses it,
and preempts pods of other jobs.
"""

from collections.abc import Sequence

from tensorplane.components.admission import cel
from tensorplane.components.base.labels import PRIORITY_LABEL, QUEUE_LABEL
from tensorplane.components.queues.manifest import cluster_wide_name

_CLASS, _QUEUE = "variables.priorityClass", "variables.queue"
_UNCHANGED = "variables.byController || variables.ranksAsBefore"


def variables(templates: str = "", old_templates: str = "") -> list[dict[str, str]]:
    """Variables of the rules, in addition to `queue`, `templates` and `byController`.

    `templates`, `old_templates`: CEL for a job's pod templates, and for those before an update.
    """
    before = f"oldObject != null && {_rank('object', templates)} == {_rank('oldObject', old_templates)}"
    return [{"name": "priorityClass", "expression": label("object")}, {"name": "ranksAsBefore", "expression": before}]


def class_of_queue(stack: str, queues: Sequence[str]) -> dict[str, str]:
    """A job names the priority class of its queue or none, when a team creates it or changes its priority.

    Jobs in queues of others in the team's namespace may name any class except the stack's.
    """
    own, right = _own(queues), _right(stack)
    classes = cel.list_of([cluster_wide_name(stack, queue) for queue in queues])
    return {
        "expression": f"{_UNCHANGED} || {_CLASS} == '' || ({own} ? {_CLASS} == {right} : !({_CLASS} in {classes}))",
        "message_expression": (
            f"'{PRIORITY_LABEL}: ' + {_CLASS} + ' is not the priority class of the job\\'s queue; ' +"
            f" ({own} ? 'set it to ' + {right} : 'remove it')"
        ),
    }


def no_class_of_pods(stack: str, queues: Sequence[str]) -> dict[str, str]:
    """The pod templates of a job in the stack's queues name no PriorityClass."""
    return {
        "expression": (
            f"{_UNCHANGED} || !({_own(queues)}) || variables.templates.all(template, {_pods_class('template')} == '')"
        ),
        "message_expression": (
            "'spec.priorityClassName: the queue decides the priority of its jobs; remove it from the pod templates,"
            f" and set the label {PRIORITY_LABEL}: ' + {_right(stack)}"
        ),
    }


def label(thing: str, name: str = PRIORITY_LABEL) -> str:
    """A label of a job; empty without it."""
    return f"dyn({thing}).metadata.?labels[?'{name}'].orValue('')"


def _rank(thing: str, templates: str) -> str:
    """Everything that decides a job's priority, for comparison."""
    labels = f"[{label(thing, QUEUE_LABEL)}, {label(thing)}]"
    return f"({labels} + ({templates}).map(template, {_pods_class('template')}))" if templates else labels


def _own(queues: Sequence[str]) -> str:
    return f"{_QUEUE} in {cel.list_of(queues)}"


def _right(stack: str) -> str:
    return f"'{cluster_wide_name(stack, '')}' + {_QUEUE}"


def _pods_class(template: str) -> str:
    return f"{template}.spec.?priorityClassName.orValue('')"
