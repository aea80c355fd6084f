"""The shared state of all operations: the connection, the settings, the engine's log, the cancellation."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from tensorplane.core.errors import ApiError, UserError
from tensorplane.core.gvk import GVK
from tensorplane.core.kube import Kube
from tensorplane.core.kube_objects import Objects
from tensorplane.core.kubeconfig import Kubeconfig
from tensorplane.plugins.kubernetes import kinds, kubeconfig
from tensorplane.plugins.kubernetes.engine import Engine
from tensorplane.plugins.kubernetes.settings import Settings


class Session:
    """A configured provider. `api` is only set while the cluster answers."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.settings = Settings()
        self.cancelled = threading.Event()
        self.kubeconfig: Kubeconfig = {}
        self.namespace = ""
        self.unreachable = "it is not configured"
        self._api: Objects | None = None
        self._working_on = threading.local()
        # Whether the kinds of this program's CRDs are namespaced: the server may not know them yet.
        self._declared: dict[tuple[str, str], bool] = {}

    def configure(self, settings: Settings) -> None:
        """Connects. An unreachable cluster is no error yet: some operations work without it."""
        self.settings = settings
        try:
            config = kubeconfig.with_overrides(kubeconfig.load(settings.kubeconfig), settings)
            api = Objects(Kube(kubeconfig.connect(config), on_warning=self._warn))
            api.version()
        except UserError as error:
            self.unreachable = str(error)
        else:
            self.unreachable = ""
            self.kubeconfig = config
            self.namespace = settings.namespace or kubeconfig.namespace(config)
            self._api = api

    @property
    def is_reachable(self) -> bool:
        return self._api is not None

    @property
    def api(self) -> Objects:
        if self._api is None:
            raise UserError(f"the Kubernetes cluster cannot be reached: {self.unreachable}")
        return self._api

    def skips_updates(self, urn: str) -> bool:
        """Whether objects stay in the state unchanged: the cluster is unreachable and skipUpdateUnreachable is set."""
        skips = not self.is_reachable and self.settings.skip_update_unreachable
        if skips:
            self.engine.warn(urn, "skipUpdateUnreachable is set and the cluster cannot be reached: skipped")
        return skips

    def working_on(self, urn: str) -> None:
        """Sets this thread's resource, so that the server's warnings appear with it."""
        self._working_on.urn = urn

    def status(self, urn: str) -> Callable[[str], None]:
        """A function that shows what a resource is waiting for."""
        return lambda message: self.engine.status(urn, message)

    def declare(self, crd: dict[str, Any]) -> None:
        """Registers a CRD that the program is about to create."""
        spec = crd.get("spec")
        if isinstance(spec, dict) and isinstance(spec.get("names"), dict):
            key = (str(spec.get("group")), str(spec["names"].get("kind")))
            self._declared[key] = spec.get("scope") == "Namespaced"

    def is_namespaced(self, gvk: GVK) -> bool:
        """Whether a kind is namespaced; unknown kinds count as namespaced."""
        declared = self._declared.get((gvk.group, gvk.kind))
        if declared is not None and not kinds.is_built_in(gvk):
            return declared
        try:
            return self.api.resource(gvk).namespaced
        except UserError:
            return True

    def knows(self, gvk: GVK) -> bool:
        """Whether the server serves a kind now."""
        if not self.is_reachable:
            return False
        try:
            self.api.resource(gvk)
        except ApiError:
            return False
        return True

    def _warn(self, message: str) -> None:
        self.engine.warn(getattr(self._working_on, "urn", ""), message)
