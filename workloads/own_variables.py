"""The environment variables of training pods that tensorplane sets itself; settings cannot."""

OWN = (
    "TF_CONFIG",
    "TF_TASK_INDEX",
    "MODEL_DIR",
    "CHECKPOINT_DIR",
    "CHECKPOINT_STEPS",
    "STREAMS",
    "PYTHONPATH",
    "TENSORPLANE_STEPS",
    "TENSORPLANE_GPUS",
    "TENSORPLANE_RUN",
    "TENSORPLANE_WRITES",
    "HOME",
    "USER",
)
