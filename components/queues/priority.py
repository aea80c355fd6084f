"""Whether a team's job has the priority of the queue that it names, as CEL: asked of jobs, before Kueue reads them.

Kueue takes any WorkloadPriorityClass that a job's label names, and these are objects of the cluster: each team could
name that of a queue which it may not use. Without the label, Kueue takes the PriorityClass of the pods; the scheduler
takes it in any case, and stops pods of other jobs for it.
"""

from collections.abc import Sequence

from components.base.labels import PRIORITY_LABEL, QUEUE_LABEL
from components.queues import cel, cluster_wide_name

_CLASS, _QUEUE = "variables.priorityClass", "variables.queue"
_UNCHANGED = "variables.byController || variables.ranksAsBefore"


def variables(templates: str = "", old_templates: str = "") -> list[dict[str, str]]:
    """What the rules read beside `queue`, `templates` and `byController`.

    `templates`, `old_templates`: CEL for a job's pod templates, and for those before an update.
    """
    before = f"oldObject != null && {_rank('object', templates)} == {_rank('oldObject', old_templates)}"
    return [{"name": "priorityClass", "expression": label("object")}, {"name": "ranksAsBefore", "expression": before}]


def class_of_queue(stack: str, queues: Sequence[str]) -> dict[str, str]:
    """A job that a team creates, or changes in what decides its priority, names the class of its queue or none.

    Queues of others in the team's namespace may have classes and PriorityClasses of their own, and not the stack's.
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
    """The pod templates of such a job name no PriorityClass."""
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
    """A label of a job, or nothing."""
    return f"dyn({thing}).metadata.?labels[?'{name}'].orValue('')"


def _rank(thing: str, templates: str) -> str:
    """All that decides a job's priority, to compare."""
    labels = f"[{label(thing, QUEUE_LABEL)}, {label(thing)}]"
    return f"({labels} + ({templates}).map(template, {_pods_class('template')}))" if templates else labels


def _own(queues: Sequence[str]) -> str:
    return f"{_QUEUE} in {cel.list_of(queues)}"


def _right(stack: str) -> str:
    return f"'{cluster_wide_name(stack, '')}' + {_QUEUE}"


def _pods_class(template: str) -> str:
    return f"{template}.spec.?priorityClassName.orValue('')"
