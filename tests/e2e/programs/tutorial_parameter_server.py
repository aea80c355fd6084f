"""What TensorFlow's tutorial "Parameter server training" calls: Keras' `fit`, then a loop of the coordinator.

The cluster is that of TF_CONFIG, as the tutorial describes for clusters. Parameter servers write their parts of
checkpoints themselves, so the folder that its first argument names is on a volume.
"""

from __future__ import annotations

import os
import random
import sys
from typing import Any

import tensorflow as tf
from tutorial_data import digest

os.environ["GRPC_FAIL_FAST"] = "use_caller"
EPOCHS, STEPS = 4, 10

resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
if resolver.task_type in ("worker", "ps"):
    tf.distribute.Server(
        resolver.cluster_spec(), job_name=resolver.task_type, task_index=resolver.task_id, protocol="grpc"
    ).join()
servers = len(resolver.cluster_spec().as_dict()["ps"])
partitioner = tf.distribute.experimental.partitioners.MinSizePartitioner(
    min_shard_bytes=(256 << 10), max_shards=servers
)
strategy = tf.distribute.ParameterServerStrategy(resolver, variable_partitioner=partitioner)

x, y = tf.random.uniform((10, 10)), tf.random.uniform((10,))
batches = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(10).repeat().batch(64).prefetch(2)
with strategy.scope():
    model = tf.keras.models.Sequential([tf.keras.layers.Dense(10)])
    model.compile(tf.keras.optimizers.legacy.SGD(), loss="mse", steps_per_execution=10)
folder = sys.argv[1]
callbacks = [
    tf.keras.callbacks.TensorBoard(log_dir=f"{folder}/log"),
    tf.keras.callbacks.ModelCheckpoint(filepath=f"{folder}/ckpt"),
    tf.keras.callbacks.BackupAndRestore(backup_dir=f"{folder}/backup"),
]
history = model.fit(batches, epochs=5, steps_per_epoch=20, callbacks=callbacks)
assert history.history["loss"][-1] < history.history["loss"][0]
assert tf.io.gfile.glob(f"{folder}/log/train/*tfevents*"), "TensorBoard's callback has written"
restored = tf.keras.models.load_model(f"{folder}/ckpt")
assert digest(restored.get_weights()) == digest(model.get_weights())

WORDS, ANSWERS = ["oak", "elm", "fir", "ash", "yew", "box", "bay"], ["yes", "no"]
with strategy.scope():
    word_ids = tf.keras.layers.StringLookup(vocabulary=WORDS, mask_token=None)
    answer_ids = tf.keras.layers.StringLookup(vocabulary=ANSWERS, num_oov_indices=0, mask_token=None)
    words = tf.keras.layers.Input(shape=(3,), dtype=tf.string, name="feature")
    of_words = tf.keras.Model({"features": words}, word_ids(words))
    answer = tf.keras.layers.Input(shape=(1,), dtype=tf.string, name="label")
    of_answers = tf.keras.Model({"label": answer}, answer_ids(answer))


def examples(count: int) -> dict[str, list[list[str]]]:
    chosen = [random.sample(WORDS, 3) for _ in range(count)]
    return {"features": chosen, "label": [["yes" if "oak" in each else "no"] for each in chosen]}


def numbers(example: Any) -> Any:
    return {"features": of_words(example["features"])}, of_answers(example["label"])


training = examples(200)


def dataset_fn(_: Any) -> tf.data.Dataset:
    return tf.data.Dataset.from_tensor_slices(training).map(numbers).shuffle(200).batch(32).repeat()


with strategy.scope():
    ids = tf.keras.layers.Input(shape=(3,), dtype=tf.int64, name="model_input")
    embedding = tf.keras.layers.Embedding(input_dim=len(word_ids.get_vocabulary()), output_dim=16384)
    judged = tf.keras.layers.Dense(units=1, activation="sigmoid", kernel_regularizer=tf.keras.regularizers.L2(1e-4))(
        tf.reduce_mean(embedding(ids), axis=1)
    )
    model = tf.keras.Model({"features": ids}, judged)
    optimizer = tf.keras.optimizers.legacy.RMSprop(learning_rate=0.1)
    accuracy = tf.keras.metrics.Accuracy()
assert [each.shape for each in embedding.weights] == [(4, 16384)] * 2
assert len({each.device for each in embedding.weights}) == servers


@tf.function  # type: ignore[untyped-decorator]  # TensorFlow has no types
def step_fn(iterator: Any) -> Any:
    def of_replica(batch: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            found = model(batch, training=True)
            losses = tf.keras.losses.BinaryCrossentropy(reduction=tf.keras.losses.Reduction.NONE)(labels, found)
            loss = tf.nn.compute_average_loss(losses)
            if model.losses:
                loss += tf.nn.scale_regularization_loss(tf.add_n(model.losses))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        accuracy.update_state(labels, tf.cast(tf.greater(found, 0.5), tf.int64))
        return loss

    batch, labels = next(iterator)
    losses = strategy.run(of_replica, args=(batch, labels))
    return strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)


coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)


@tf.function  # type: ignore[untyped-decorator]
def per_worker_dataset_fn() -> Any:
    return strategy.distribute_datasets_from_function(dataset_fn)


iterator = iter(coordinator.create_per_worker_dataset(per_worker_dataset_fn))
for epoch in range(EPOCHS):
    accuracy.reset_states()
    for _ in range(STEPS):
        coordinator.schedule(step_fn, args=(iterator,))
    coordinator.join()
    print(f"epoch={epoch} accuracy={accuracy.result().numpy():.4f}", flush=True)
loss = coordinator.schedule(step_fn, args=(iterator,))
print(f"loss={loss.fetch():.4f}", flush=True)
assert accuracy.result().numpy() > 0.5

with strategy.scope():
    of_evaluation = tf.keras.metrics.Accuracy()


@tf.function  # type: ignore[untyped-decorator]
def eval_step(iterator: Any) -> None:
    def of_replica(batch: Any, labels: Any) -> None:
        of_evaluation.update_state(labels, tf.cast(tf.greater(model(batch, training=False), 0.5), tf.int64))

    batch, labels = next(iterator)
    strategy.run(of_replica, args=(batch, labels))


def eval_dataset_fn() -> tf.data.Dataset:
    return tf.data.Dataset.from_tensor_slices(examples(16)).map(numbers).shuffle(16).repeat().batch(8)


evaluated = iter(coordinator.create_per_worker_dataset(eval_dataset_fn))
for _ in range(2):
    coordinator.schedule(eval_step, args=(evaluated,))
coordinator.join()
print(f"tutorial=finished evaluation={of_evaluation.result().numpy():.4f}", flush=True)
