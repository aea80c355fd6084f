"""The evaluator: measures each checkpoint of the run on the held-out digits, with TensorFlow alone."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import tensorflow as tf
from data import load
from digits_network import FILE, network

task = json.loads(os.environ["TF_CONFIG"])["task"]
assert task == {"type": "evaluator", "index": 0}, task
model = network()
images, digits = load(FILE)[1]
board = Path(os.environ["TENSORBOARD_DIR"])
writer = tf.summary.create_file_writer(str(board / "evaluator"))
for path in tf.train.checkpoints_iterator(os.environ["CHECKPOINT_DIR"]):
    try:
        tf.train.Checkpoint(model=model).restore(path).expect_partial()
    except tf.errors.OpError:
        continue  # the run keeps its newest three
    at = int(Path(path).name.rpartition("-")[2])
    accuracy = float(np.mean(np.argmax(model(images), axis=1) == digits))
    with writer.as_default():
        tf.summary.scalar("accuracy", accuracy, step=at)
    writer.flush()
    print(f"evaluating step={at} accuracy={accuracy:.4f}", flush=True)
    draft = board / "verdict.draft"
    draft.write_text(json.dumps({"step": at, "accuracy": accuracy}))
    draft.replace(board / "verdict.json")
