"""How a training job is distributed over processes: each strategy states its roles, and one builder creates the job."""

from collections.abc import Sequence

from components.base.family import Variant, load_family
from components.base.model import Resources
from workloads.role import Role


class Strategy(Variant, family=True):
    """A strategy of `tf.distribute`, as the pods that it requires."""

    kind: str

    def roles(self, resources: Resources) -> Sequence[Role]:
        """The pods of the job, by role. `resources` are those of the training pods."""
        raise NotImplementedError


load_family(__name__, __path__)
