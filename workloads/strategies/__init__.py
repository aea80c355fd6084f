"""How a training job spreads over processes: each strategy says its roles, one builder makes the job of them."""

from collections.abc import Sequence

from components.family import Variant, load_family
from workloads.tf_config import Role


class Strategy(Variant, family=True):
    """A strategy of `tf.distribute`, as the pods that it needs."""

    kind: str

    def roles(self) -> Sequence[Role]:
        """The pods of the job."""
        raise NotImplementedError

    def deciding(self) -> Sequence[str]:
        """The roles whose success is the job's; all by default."""
        return [role.name for role in self.roles()]


load_family(__name__, __path__)
