"""The controller of a model server's rollouts without Pulumi: how its objects are named, and where its settings and its
state are."""

from tensorplane.agents.rollout.cluster import STATE_KEY as STATE_KEY
from tensorplane.agents.rollout.gates import ACCURACY as ACCURACY
from tensorplane.agents.rollout.gates import Gate as Gate
from tensorplane.agents.rollout.routes import CANARY_SUFFIX as CANARY_SUFFIX
from tensorplane.agents.rollout.routes import STABLE_SUFFIX as STABLE_SUFFIX
from tensorplane.agents.rollout.spec import Rollout as Rollout
from tensorplane.agents.rollout.spec import RolloutSpec as RolloutSpec
from tensorplane.agents.rollout.state import RolloutState as RolloutState

NAME_SUFFIX = "-rollout"
"""What the names of the controller's objects end with, after the server's name."""
FILE = "rollout.json"
"""The key of the controller's settings in the ConfigMap that it mounts."""
