"""CEL rules for jobs that Kueue admits: they hold what it counted, for as long as it counts it.

Kueue counts the requests of a JobSet's templates, and forgets a job that is being deleted, or that has no queue. What
its pods hold then, or hold beyond that, no quota knows. Each rule uses the variables of `admission`.
"""

from tensorplane.components.admission import priority, restricted_pods, senders
from tensorplane.components.admission.gpu_guard import ADMITTED, OWNER, asks
from tensorplane.components.admission.namespaces import Spaces
from tensorplane.components.admission.policy import same
from tensorplane.components.base.labels import QUEUE_LABEL
from tensorplane.components.queues.settings import MOST_GRACE

MOST_PODS = 10_000
"""Of a team's JobSet: JobSet's controller makes all Jobs at once, and a few millions of them are its end."""
_GRACE = 30
"""Kubernetes' default for the seconds that a pod has to end."""
_FREE = "variables.byController"
_JOB_SET = "request.kind.kind == 'JobSet'"
_JOBS = "dyn(object).spec.replicatedJobs"
_OF_WORKFLOW = "(owner.apiVersion.startsWith('argoproj.io/') && owner.kind == 'Workflow')"


def everywhere(spaces: Spaces) -> list[dict[str, str]]:
    """The rules of all the stack's namespaces."""
    grows = [] if spaces.only_job_sets else [_no_growth()]
    rules = [_only_kueue_labels(spaces), _of_job_set(), *grows, _no_escape(), _no_finalizers(spaces), _keeps_queue()]
    return [*rules, _keeps_spec(), _no_controller()]


def amounts() -> dict[str, str]:
    """Kueue adds up what templates request, and nobody checks the amounts of JobSets before their pods."""
    return {
        "expression": f"{_FREE} || variables.amounts",
        "message": (
            "resources: amounts are 0 or more, and of GPUs and other extended resources whole numbers; correct them in"
            " the pod templates"
        ),
    }


def of_teams() -> list[dict[str, str]]:
    """The rules of teams' namespaces, whose members may create nothing but JobSets."""
    seconds = f"template.spec.?terminationGracePeriodSeconds.orValue({_GRACE})"
    grace = f"variables.templates.all(template, {seconds} <= {MOST_GRACE} || !{asks('template.spec')})"
    job_seconds = f"job.template.spec.{seconds}"
    # The policy is the default of Jobs with a podFailurePolicy, and one without retries replaces no pod.
    one_by_one = (
        "job.template.spec.?podReplacementPolicy.orValue('') == 'Failed' || has(job.template.spec.podFailurePolicy)"
        " || job.template.spec.?backoffLimit.orValue(6) == 0"
    )
    asking = asks("job.template.spec.template.spec")
    replaced = f"{_JOBS}.all(job, {job_seconds} <= {_GRACE} || {one_by_one} || !{asking})"
    unbound = "template.spec.?nodeName.orValue('') == ''"
    selected = f"{_JOBS}.all(job, !job.template.spec.?manualSelector.orValue(false))"
    count = "[int(job.?replicas.orValue(1)), int(job.template.spec.?parallelism.orValue(1))]"
    # Products of larger numbers overflow. A Job without pods is a Job, too.
    few = f"{_JOBS}.all(job, {count}.all(number, number <= {MOST_PODS}))"
    pods = f"{_JOBS}.map(job, {count}[0] * [1, {count}[1]].max()).sum() <= {MOST_PODS}"
    return [
        {
            "expression": f"{_FREE} || !({_JOB_SET}) || {_or_unchanged(grace)}",
            "message": (
                f"spec.terminationGracePeriodSeconds: pods with GPUs may take up to {MOST_GRACE} seconds to end, since"
                f" they hold their GPUs meanwhile; set {MOST_GRACE} or less in the pod templates"
            ),
        },
        {
            "expression": f"{_FREE} || !({_JOB_SET}) || {_or_unchanged(f'{few} && {pods}')}",
            "message": f"spec.replicatedJobs: a JobSet has at most {MOST_PODS} pods; set fewer replicas or parallelism",
        },
        {
            "expression": (
                f"{_FREE} || !({_JOB_SET}) || "
                f"{_or_unchanged('dyn(object).spec.?volumeClaimPolicies.orValue([]).size() == 0')}"
            ),
            "message": (
                "spec.volumeClaimPolicies: members of a team create no PersistentVolumeClaims; mount one that the"
                " namespace has in spec.volumes of the pod templates"
            ),
        },
        {
            "expression": f"{_FREE} || !({_JOB_SET}) || {_or_unchanged(replaced)}",
            "message": (
                "spec.podReplacementPolicy: pods with GPUs that are asked to end would hold them beside their"
                f" replacements; set Failed in the Jobs, or terminationGracePeriodSeconds to {_GRACE} or less"
            ),
        },
        {
            "expression": f"{_FREE} || !({_JOB_SET}) || {_or_unchanged(selected)}",
            "message": "spec.manualSelector: a Job would replace pods that it no longer selects; remove it",
        },
        {
            "expression": f"{_FREE} || !({_JOB_SET}) || variables.templates.all(template, {unbound})",
            "message": (
                "spec.nodeName: Kueue counts the flavor that it selects, which this node may not be of; remove it from"
                " the pod templates"
            ),
        },
    ]


def variable_amounts() -> dict[str, str]:
    """Whether the amounts of a JobSet's templates are those that pods may have."""
    amount = "quantity(string(amounts[name]))"
    whole = f"(!name.contains('/') || {amount}.isInteger())"
    right = f"isQuantity(string(amounts[name])) && !{amount}.isLessThan(quantity('0')) && {whole}"
    parts = "[one.?resources.?requests.orValue({}), one.?resources.?limits.orValue({}), one.?overhead.orValue({})]"
    # What containers request, and what the pod itself does.
    all_parts = f"({restricted_pods.containers('template.spec')} + [template.spec])"
    each = f"{all_parts}.all(one, {parts}.all(amounts, amounts.all(name, {right})))"
    return {"name": "amounts", "expression": f"!({_JOB_SET}) || variables.templates.all(template, {each})"}


def _only_kueue_labels(spaces: Spaces) -> dict[str, str]:
    unchanged = (
        "oldObject == null ? variables.admitted.all(one, one == '') : variables.admitted == variables.wereAdmitted"
    )
    return {
        "expression": f"({unchanged}) || {senders.admits(spaces)}",
        "message": f"{ADMITTED}: only Kueue sets this label; leave it as it is in the pod templates",
    }


def _of_job_set() -> dict[str, str]:
    """Kueue admits the JobSet, and counts its templates."""
    about = (f"metadata.?{key}" for key in ("ownerReferences", "finalizers", "labels"))
    stays = " && ".join(map(same, ("spec", *about)))
    free = f"{_FREE} || request.kind.kind != 'Job'"
    was = f"(oldObject != null && {senders.owned('JobSet', 'oldObject')})"
    return {
        "expression": f"{free} || !({senders.owned('JobSet')} || {was}) || (oldObject != null && {stays})",
        "message": "metadata.ownerReferences: only controllers create and change Jobs of a JobSet; change the JobSet",
    }


def _no_growth() -> dict[str, str]:
    return {
        "expression": (
            f"{_FREE} || !variables.wasLabelled || request.kind.kind != 'Job'"
            " || dyn(object).spec.?parallelism.orValue(1) <= dyn(oldObject).spec.?parallelism.orValue(1)"
        ),
        "message": "spec.parallelism: an admitted job cannot grow; create another job",
    }


def _no_escape() -> dict[str, str]:
    """Kueue neither evicts nor ends a job that has no queue, or that another one owns."""
    return {
        "expression": (
            f"{_FREE} || !variables.wasLabelled || ({same(OWNER)} && {same(f'metadata.?labels[?{QUEUE_LABEL!r}]')})"
        ),
        "message": "metadata: an admitted job keeps its owner and its queue; create another job",
    }


def _no_finalizers(spaces: Spaces) -> dict[str, str]:
    """Kueue gives a job's quota back when its deletion begins, and finalizers keep the job and its pods after that."""
    kinds = ["JobSet"] if spaces.only_job_sets else ["JobSet", "Job"]
    had = "(oldObject == null ? [] : dyn(oldObject).metadata.?finalizers.orValue([]))"
    added = f"dyn(object).metadata.?finalizers.orValue([]).all(one, one in {had})"
    return {
        "expression": f"{_FREE} || !(request.kind.kind in {kinds}) || {added}",
        "message": (
            "metadata.finalizers: pods of a job with finalizers go on after it is deleted, without quota; remove them"
        ),
    }


def _keeps_queue() -> dict[str, str]:
    """The Jobs of a JobSet that was evicted still have the label of admitted ones."""
    old, new = priority.label("oldObject", QUEUE_LABEL), priority.label("object", QUEUE_LABEL)
    with_gpus = f"({_templates('oldObject')}).exists(template, {asks('template.spec')})"
    return {
        "expression": f"{_FREE} || !({_JOB_SET}) || oldObject == null || {old} == '' || {new} != '' || !{with_gpus}",
        "message": f"metadata.labels: a JobSet with GPUs keeps the label {QUEUE_LABEL}; delete it, and create another",
    }


def _keeps_spec() -> dict[str, str]:
    """Kueue takes back the quota of an admitted job that is not what it counted, and does not stop it if it starts
    again. Each time that it is stopped and started, its former pods hold their GPUs until they end."""
    return {
        "expression": (
            f"{_FREE} || !({_JOB_SET}) || oldObject == null || {priority.label('oldObject', QUEUE_LABEL)} == '' ||"
            f" ({same('spec.?suspend.orValue(false)')} && {_changeable('object')} == {_changeable('oldObject')})"
        ),
        "message": (
            "spec: Kueue starts and stops a JobSet in a queue, as it has counted it; to change it, delete it and create"
            " another"
        ),
    }


def _changeable(thing: str) -> str:
    """What JobSet lets others change in the templates of a JobSet that does not run. The defaults of the rest may be
    spelt in another way."""
    labels, annotations = (f"template.?metadata.?{key}.orValue({{}})" for key in ("labels", "annotations"))
    spec = (("nodeSelector", "{}"), ("tolerations", "[]"), ("schedulingGates", "[]"))
    parts = [labels, annotations, *(f"template.spec.?{key}.orValue({empty})" for key, empty in spec)]
    return f"{_templates(thing)}.map(template, [{', '.join(f'dyn({part})' for part in parts)}])"


def _no_controller() -> dict[str, str]:
    """Kueue leaves a JobSet that another one controls to that one, and counts it with none. It does count those of
    Argo's Workflows, which it does not know: a pipeline's stage is one."""
    had = f"(oldObject == null ? [] : dyn(oldObject).{OWNER})"
    known = f"owner in {had} || {_OF_WORKFLOW}"
    return {
        "expression": f"{_FREE} || !({_JOB_SET}) || dyn(object).{OWNER}.all(owner, {known})",
        "message": (
            "metadata.ownerReferences: Kueue does not count a JobSet that another object controls; remove"
            " controller: true"
        ),
    }


def _templates(thing: str) -> str:
    """The pod templates of a JobSet."""
    return f"dyn({thing}).spec.replicatedJobs.map(job, job.template.spec.template)"


def _or_unchanged(rule: str) -> str:
    """A rule, or a JobSet from before that stays as it is."""
    return f"({rule} || (oldObject != null && {same('spec.replicatedJobs')}))"
