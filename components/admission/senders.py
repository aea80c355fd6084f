"""Who sent a request, in CEL: anyone can write what Kueue and the controllers of Kubernetes write, so only they may."""

from tensorplane.components import versions
from tensorplane.components.admission import cel
from tensorplane.components.admission.namespaces import Spaces

_USER = "request.userInfo.username"
_KUBERNETES = ("system:kube-controller-manager", "system:serviceaccount:kube-system:{}-controller")
"""Its controllers have one user, or one service account each."""
_KUEUE = f"system:serviceaccount:{versions.KUEUE.namespace}:kueue-controller-manager"
_JOBSET = f"system:serviceaccount:{versions.JOBSET.namespace}:jobset-controller"


def by_controller(spaces: Spaces) -> dict[str, str]:
    """The variable `byController`: whether a controller sent the request.

    Where Kueue only admits JobSets, the controllers of Jobs, JobSets and Kueue may all write the status of Jobs.
    Accounts that deploy workloads to a namespace may not.
    """
    account = f"({_USER}.startsWith('system:serviceaccount:') && !({_USER}.split(':')[2] in {_inside(spaces)}))"
    if spaces.only_job_sets:
        jobs = "authorizer.group('batch').resource('jobs').subresource('status').namespace(request.namespace)"
        account += f" && {jobs}.check('update').allowed()"
    return {"name": "byController", "expression": f"{_USER} == '{_KUBERNETES[0]}' || ({account})"}


def of_kubernetes(*names: str) -> str:
    """Whether one of these controllers of Kubernetes sent it."""
    return f"{_USER} in {cel.list_of([_KUBERNETES[0], *map(_KUBERNETES[1].format, names)])}"


def admits(spaces: Spaces) -> str:
    """Whether it is from who labels templates of admitted jobs: Kueue those of JobSets, the controller of JobSets those
    of their Jobs. The accounts are known where the stack installs both, or else it is a controller."""
    if not spaces.only_job_sets:
        return "variables.byController"
    of_jobs = f"{_USER} == '{_JOBSET}'" if spaces.installs_jobset else "variables.byController"
    return f"(request.kind.kind == 'JobSet' ? {_USER} == '{_KUEUE}' : {of_jobs} && {owned('JobSet')})"


def from_inside(spaces: Spaces) -> str:
    """Whether it is from a service account of the stack's namespaces."""
    return f"{_USER}.startsWith('system:serviceaccount:') && {_USER}.split(':')[2] in {_inside(spaces)}"


def owned(kind: str, thing: str = "object") -> str:
    """Whether an object of this kind, of the API group that Kubernetes or JobSet gives it, owns this one."""
    api = _GROUPS[kind]
    owners = f"dyn({thing}).metadata.?ownerReferences.orValue([])"
    return f"{owners}.exists(owner, owner.kind == '{kind}' && owner.apiVersion.startsWith('{api}/'))"


_GROUPS = {"Job": "batch", "JobSet": "jobset.x-k8s.io", "ReplicaSet": "apps"}


def _inside(spaces: Spaces) -> str:
    return cel.list_of(spaces.namespaces)
