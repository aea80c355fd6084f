"""The newest state of one object, watched in a thread so that its caller never blocks in a read."""

from __future__ import annotations

import queue
import threading
from types import TracebackType

from tensorplane.core.errors import ApiError
from tensorplane.core.gvk import GVK
from tensorplane.core.kube_objects import Objects
from tensorplane.plugins.kubernetes.await_result import Object, dig

_RETRY_SECONDS = 1.0
_RECHECK_SECONDS = 5.0  # a deletion between two lists has no event


class GoneError(Exception):
    """The object does not exist, or no longer exists."""


class Feed:
    """Context manager; `latest` waits for a new state. The watch ends with the block."""

    def __init__(self, api: Objects, obj: Object) -> None:
        self._api = api
        self._gvk = GVK.of(obj)
        self._name = obj["metadata"]["name"]
        self._namespace = dig(obj, "metadata", "namespace")
        self._uid = dig(obj, "metadata", "uid")
        self._news: queue.Queue[Object | Exception] = queue.Queue()
        self._stop = threading.Event()
        self._idle = 0.0

    def __enter__(self) -> Feed:
        threading.Thread(target=self._watch, daemon=True, name=f"watch {self._name}").start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()

    def latest(self, seconds: float) -> Object | None:
        """The newest state, None on timeout. Raises GoneError, or the ApiError that ended the watch."""
        try:
            news = self._news.get(timeout=seconds)
            while not isinstance(news, Exception) and not self._news.empty():
                news = self._news.get_nowait()
        except queue.Empty:
            self._recheck(seconds)
            return None
        self._idle = 0.0
        if isinstance(news, Exception):
            raise news
        return news

    def _recheck(self, seconds: float) -> None:
        self._idle += seconds
        if self._idle >= _RECHECK_SECONDS:
            self._idle = 0.0
            self.look()

    def look(self) -> Object | None:
        """Asks the server now. None if it does not answer; raises GoneError."""
        try:
            live = self._api.get(self._gvk, self._name, self._namespace)
        except ApiError as error:
            if error.not_found:
                raise GoneError from None
            if error.unreachable or error.status >= 500:
                return None
            raise
        if self._is_other(live):
            raise GoneError
        return live

    def _watch(self) -> None:
        while not self._stop.is_set():
            try:
                for change, live in self._api.watch(self._gvk, self._name, self._namespace, cancelled=self._stop):
                    gone = change == "DELETED" or self._is_other(live)
                    self._news.put(GoneError() if gone else live)
            except ApiError as error:
                if not (error.unreachable or error.status >= 500):
                    self._news.put(GoneError() if error.not_found else error)
                    return
                self._stop.wait(_RETRY_SECONDS)

    def _is_other(self, live: Object) -> bool:
        """Somebody deleted the object and created another with the same name."""
        return bool(self._uid and dig(live, "metadata", "uid") != self._uid)
