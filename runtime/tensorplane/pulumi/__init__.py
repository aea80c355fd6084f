"""tensorplane in your own Pulumi program: a stack from settings, and workloads as resources beside your others.

    import tensorplane.pulumi as tp

    platform = tp.Stack("ml", tp.settings("tensorplane.yaml"))
    tp.TrainingJob("digits", platform=platform, strategy=tp.Single(), script="train.py", queue="research")

Arguments are the settings of docs/settings, in Python's spelling (`grace_seconds`); maps in them have the keys of YAML.
"""

from tensorplane.components.namespace import rules
from tensorplane.pulumi.arguments import *  # noqa: F403  # the models of settings, such as MultiWorkerMirrored
from tensorplane.pulumi.stack import Stack as Stack
from tensorplane.pulumi.stack import settings as settings
from tensorplane.pulumi.workloads import ModelServer as ModelServer
from tensorplane.pulumi.workloads import Notebook as Notebook
from tensorplane.pulumi.workloads import Pipeline as Pipeline
from tensorplane.pulumi.workloads import Recorder as Recorder
from tensorplane.pulumi.workloads import Scorer as Scorer
from tensorplane.pulumi.workloads import Sweep as Sweep
from tensorplane.pulumi.workloads import TensorBoard as TensorBoard
from tensorplane.pulumi.workloads import TrainingJob as TrainingJob

NAMESPACE_LABELS: dict[str, str] = dict(rules.LABELS)
"""What the program's own namespace of a stack has as labels."""
