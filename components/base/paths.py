"""A set of keys that knows which keys are around them and inside them, however many there are."""

from collections import Counter
from collections.abc import Iterable

from components.base.place import Key


class Paths:
    """Keys, each as often as it was added."""

    def __init__(self, keys: Iterable[Key] = ()) -> None:
        self._keys: Counter[Key] = Counter()
        self._around: Counter[Key] = Counter()
        for key in keys:
            self.add(key)

    def add(self, key: Key) -> None:
        """Add a key once."""
        self._keys[key] += 1
        for length in range(len(key) + 1):
            self._around[key[:length]] += 1

    def remove(self, key: Key) -> None:
        """Remove a key that was added, once."""
        self._keys[key] -= 1
        for length in range(len(key) + 1):
            self._around[key[:length]] -= 1

    def meets(self, keys: Iterable[Key]) -> bool:
        """Whether one of these keys is, contains or is inside one of the set."""
        return any(self._around[key] or any(self._keys[key[:length]] for length in range(len(key))) for key in keys)
