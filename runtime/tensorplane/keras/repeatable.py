"""Whether a dataset has the same order each time it is read, which resuming and sharing it both require."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import tensor_util
from tensorflow.python.framework.auto_control_deps_utils import get_read_only_resource_input_indices_graph

from tensorplane.errors import UsageError
from tensorplane.log import warn

_SHUFFLES = ("ShuffleDataset", "ShuffleDatasetV2", "ShuffleDatasetV3", "ShuffleAndRepeatDataset")
_END_FIRST = ("TakeDataset", "TakeWhileDataset", "ZipDataset", "DirectedInterleaveDataset")
_REMEDY = (
    "pass seed= to it, or call tensorplane.strategy() or keras.utils.set_random_seed() before you create the dataset"
)
_STATELESS = "use tf.random.stateless_* with a seed from the element"


class NotRepeatable(UsageError):
    """The order of a dataset differs from one reading to the next, or from worker to worker."""


def seeds(dataset: Any) -> list[tuple[str, int, int]]:
    """The random operations of a tf.data.Dataset, each with its two seeds; both are 0 if it has none."""
    found: list[tuple[str, int, int]] = []
    for one in _parts(dataset):
        if hasattr(one, "_seed") and hasattr(one, "_seed2"):
            found.append((type(one).__name__.strip("_"), _number(one._seed), _number(one._seed2)))
        for function in one._functions():
            found += _in_graph(function.function.graph.as_graph_def())
    return found


def _parts(dataset: Any) -> Iterator[tf.data.Dataset]:
    """A dataset and all that it is made of, each once."""
    waiting, seen = [dataset], set[int]()
    while waiting:
        one = waiting.pop()
        if id(one) not in seen and isinstance(one, tf.data.Dataset):
            seen.add(id(one))
            yield one
            waiting += one._inputs()


def endless_shuffles(dataset: Any) -> list[tf.data.Dataset]:
    """The shuffles of a dataset that never ends: how often each has begun anew depends on what was read ahead."""
    if not isinstance(dataset, tf.data.Dataset) or int(dataset.cardinality()) != tf.data.INFINITE_CARDINALITY:
        return []
    return reshuffled(dataset)


def reshuffled(dataset: Any) -> list[tf.data.Dataset]:
    """The shuffles of a dataset that take another order each time they begin."""
    return [one for one in _parts(dataset) if getattr(one, "_reshuffle_each_iteration", False)]


def runs_python(dataset: Any) -> bool:
    """Whether Python code yields or changes elements of a dataset."""
    graphs = [function.function.graph.as_graph_def() for one in _parts(dataset) for function in one._functions()]
    nodes = [nodes for graph in graphs for nodes in (graph.node, *(one.node_def for one in graph.library.function))]
    return any(node.op in ("PyFunc", "EagerPyFunc", "PyFuncStateless") for part in nodes for node in part)


def draws_below_memory_caches(dataset: Any) -> list[tf.data.Dataset]:
    """The caches in memory of a dataset whose contents are drawn anew when they are filled again."""
    return [one for one in _parts(dataset) if _is_memory_cache(one) and any(map(_draws, _parts(one)))]


def _draws(part: Any) -> bool:
    """Whether a part of a dataset may give other elements when it is read again."""
    if hasattr(part, "_seed2"):
        return bool(getattr(part, "_reshuffle_each_iteration", True))
    return any(True for function in part._functions() for _ in _in_graph(function.function.graph.as_graph_def()))


def _is_memory_cache(part: Any) -> bool:
    return type(part).__name__ == "CacheDataset" and tf.get_static_value(part._filename) in (b"", None)


def pass_over(dataset: Any, *, times: int, unread: int = 0, first_ended: bool = True, read_ahead: bool = False) -> None:
    """Lets the next iterator of a dataset be the one after `times` others.

    `unread`: how many of them gave no element; the others were read to their ends. `first_ended`: so was the first, and
    filled a cache in memory, below which nothing is read again. So it is read to its end here, too. `read_ahead`: they
    were asked for more than they have, as by a prefetch.
    """
    ends = isinstance(dataset, tf.data.Dataset) and int(dataset.cardinality()) != tf.data.INFINITE_CARDINALITY
    if times and first_ended and ends and draws_below_memory_caches(dataset):
        times -= 1
        _read(dataset, ahead=True)
    for number in range(times):
        if number < unread:
            iter(dataset)
        elif first_ended and ends and _begins_often(dataset):
            _read(dataset, ahead=read_ahead)
        else:
            _begin(dataset)


def _begin(dataset: tf.data.Dataset) -> None:
    """Begins each part once, for shuffles take another order each time they begin."""
    iter(dataset)
    waiting = [dataset]
    while waiting:
        part = waiting.pop()
        inputs = list(part._inputs())
        later = inputs if _kind(part) == "ShuffleDataset" else inputs[1:] if _kind(part) == "ConcatenateDataset" else []
        waiting += inputs[: len(inputs) - len(later)]
        for one in later:
            # It begins as the part is read.
            if any(map(_draws, _parts(one))):
                _begin(one)


def _begins_often(dataset: tf.data.Dataset) -> bool:
    """Whether a reading begins parts with an order of their own several times, or as often as the data decide."""
    for part in _parts(dataset):
        if any(one.dtype == tf.variant for function in part._functions() for one in function.function.captured_inputs):
            # A function, as of `flat_map`, reads other datasets.
            return True
        repeats = _kind(part) == "RepeatDataset" and int(part._count) != 1
        may_not_begin = _kind(part) in _END_FIRST and any(_kind(one) == "ConcatenateDataset" for one in _parts(part))
        if (repeats or may_not_begin) and any(map(_draws, _parts(part))):
            return True
    return False


def _read(dataset: tf.data.Dataset, *, ahead: bool) -> None:
    """Reads a dataset as training does: up to its last element, or, if that is unknown or read ahead, its end."""
    count, iterator = int(dataset.cardinality()), iter(dataset)
    ahead = ahead or any(_kind(one).startswith(("Prefetch", "Parallel")) for one in _parts(dataset))
    for _ in iterator if ahead or count < 0 else itertools.islice(iterator, count):
        pass


def _kind(part: tf.data.Dataset) -> str:
    return type(part).__name__.strip("_")


def check(dataset: Any) -> None:
    """Raises NotRepeatable with the operation that has no seed, or is told to give up the order."""
    for one in _parts(dataset):
        if one.options().deterministic is False or getattr(one, "_deterministic", "") == "false":
            raise NotRepeatable(
                "dataset: deterministic=False gives elements in the order in which they are ready; remove it"
            )
    for name in _draws_in_any_order(dataset):
        warn(
            f"dataset: {name} draws in parallel calls, so its numbers differ at each reading; {_STATELESS}, or remove "
            "num_parallel_calls"
        )
    if names := _changed_variables(dataset):
        warn(
            f"dataset: its functions change variables that are not saved ({', '.join(names)}), so a resumed fit draws "
            f"other numbers; move random layers into the model, or {_STATELESS}"
        )
    for name, *numbers in seeds(dataset):
        if not any(numbers):
            raise NotRepeatable(f"dataset: {name} has no seed, so its order cannot be repeated; {_REMEDY}")


def _changed_variables(dataset: Any) -> list[str]:
    """The variables that functions of a dataset change, such as those of random layers and generators, each once."""
    found = [
        f"{name} of {type(one).__name__.strip('_')}"
        for one in _parts(dataset)
        for function in one._functions()
        for name in _changed_in(function.function.graph)
    ]
    return list(dict.fromkeys(found))


def _changed_in(graph: Any) -> list[str]:
    handles = {id(outer): index for index, (outer, _) in enumerate(graph.captures)}
    first = len(graph.inputs) - len(handles)
    read = set(get_read_only_resource_input_indices_graph(graph))
    known = {id(variable.handle): variable.name.partition(":")[0] for variable in graph.variables}
    return [
        known.get(handle, "without a name")
        for handle, index in handles.items()
        if first + index not in read and is_variable(graph.captures[index][0])
    ]


def draws_in(graph: Any) -> list[str]:
    """The random operations of a graph whose state is in their kernels, each once. Those of cuDNN draw for dropout."""
    names = [name for name, *_ in _in_graph(graph.as_graph_def()) if not name.startswith("Cudnn")]
    return list(dict.fromkeys(names))


def is_variable(handle: Any) -> bool:
    """Whether a tensor that a graph captures is the handle of a variable."""
    data = getattr(handle, "_handle_data", None)
    return handle.dtype == tf.resource and data is not None and data.is_set and len(data.shape_and_type) > 0


def _draws_in_any_order(dataset: Any) -> list[str]:
    """The seeded random operations whose next number goes to whichever element asks first, each once."""
    found = [
        name
        for one in _parts(dataset)
        if getattr(one, "_num_parallel_calls", None) is not None
        for function in one._functions()
        for name, *numbers in _in_graph(function.function.graph.as_graph_def())
        if name not in _SHUFFLES and any(numbers)
    ]
    return list(dict.fromkeys(found))


def check_same(dataset: Any, strategy: tf.distribute.Strategy) -> None:
    """Raises NotRepeatable if workers would read the dataset in different orders. All workers must call it."""
    mine = hash_of(seeds(dataset))
    count = strategy.num_replicas_in_sync
    # Not gathered: eagerly, as in `self_check`, TensorFlow can only add what workers have.
    rows = strategy.experimental_distribute_values_from_function(
        lambda context: mine * tf.one_hot(context.replica_id_in_sync_group, count, dtype=tf.int64)
    )
    everyones = strategy.reduce(tf.distribute.ReduceOp.SUM, rows, axis=None)
    if len(set(everyones.numpy().tolist())) > 1:
        raise NotRepeatable(
            "dataset: workers have different seeds, so each would read another order; call "
            "keras.utils.set_random_seed() with the same number in all of them before you create the dataset"
        )
    check(dataset)


def hash_of(found: list[tuple[str, int, int]]) -> int:
    """A number below 2^32 that differs for other seeds."""
    import zlib

    return zlib.crc32(repr(found).encode())


def _number(value: Any) -> int:
    return int(value) if not tf.is_symbolic_tensor(value) else int(tf.get_static_value(value) or 0)


def _in_graph(graph: Any) -> Iterator[tuple[str, int, int]]:
    """Random operations in the functions of `map`, `interleave` and others."""
    for nodes in (graph.node, *(function.node_def for function in graph.library.function)):
        constants = {node.name: node for node in nodes if node.op == "Const"}
        for node in nodes:
            if node.op in _SHUFFLES:
                inputs = [constants.get(name.split(":")[0]) for name in node.input[2:4]]
                numbers = [int(tensor_util.MakeNdarray(one.attr["value"].tensor)) for one in inputs if one is not None]
                if len(numbers) == 2:
                    yield node.op, numbers[0], numbers[1]
            elif "seed" in node.attr and "seed2" in node.attr:
                yield node.op, node.attr["seed"].i, node.attr["seed2"].i
