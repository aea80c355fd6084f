"""The inputs of a `helm.sh/v3:Release`: names, defaults, and the normal form that is stored and compared.

The form is that of pulumi-kubernetes: every field is present, an unset one with its zero value, and `valueYamlFiles`
are merged into `values`. So a state can move between the two providers without a difference.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import urllib3
import yaml

from tensorplane.core.errors import UserError
from tensorplane.plugins.kubernetes import naming, secrecy
from tensorplane.plugins.kubernetes.values import UNKNOWN, Properties, Secret, Unknown, has_secret, plain

DEFAULT_TIMEOUT_SECONDS = 300

_FLAGS = (
    "allowNullValues",
    "atomic",
    "cleanupOnFail",
    "createNamespace",
    "dependencyUpdate",
    "devel",
    "disableCRDHooks",
    "disableOpenapiValidation",
    "disableWebhooks",
    "forceUpdate",
    "lint",
    "recreatePods",
    "renderSubchartNotes",
    "replace",
    "resetValues",
    "reuseValues",
    "skipAwait",
    "skipCrds",
    "verify",
    "waitForJobs",
)
_TEXTS = ("chart", "description", "keyring", "name", "namespace", "postrender", "version")
_REPOSITORY_TEXTS = ("repo", "caFile", "certFile", "keyFile", "password", "username")

_SIGNATURE = "4dabf18193072939515e22adb298388d"
_ASSET = "c44067f5952c0a294b673a41bacd8c17"


def with_name(news: Properties, olds: Properties, resource_name: str, seed: bytes) -> Properties:
    """The inputs with a name: the given one, else the current one, else a new one."""
    if news.get("name"):
        return news
    old = plain(olds.get("name"))
    return news | {"name": old or naming.unique(f"{resource_name}-", seed)}


def normal(news: Properties, default_namespace: str) -> Properties:
    """The normal form, secret and unknown where `news` is."""
    given = plain(news)
    values = given.get("values")
    files = given.get("valueYamlFiles")
    form: Properties = {name: given.get(name) or False for name in _FLAGS}
    form |= {name: given.get(name) or "" for name in _TEXTS}
    form["namespace"] = form["namespace"] or default_namespace or "default"
    form["timeout"] = given.get("timeout")
    if form["timeout"] is None:
        form["timeout"] = 0 if form["skipAwait"] is True else DEFAULT_TIMEOUT_SECONDS
    if given.get("maxHistory") is not None:
        form["maxHistory"] = given["maxHistory"]
    if isinstance(given.get("repositoryOpts"), dict):
        form["repositoryOpts"] = {name: given["repositoryOpts"].get(name) or "" for name in _REPOSITORY_TEXTS}
    if form["verify"] is True and not form["keyring"]:
        form["keyring"] = str(Path.home() / ".gnupg" / "pubring.gpg")
    is_unknown = isinstance(values, Unknown) or isinstance(files, Unknown)
    form["values"] = UNKNOWN if is_unknown else merged(_from_files(files or []), values or {})
    secrecy.mark(form, news)
    if has_secret(news.get("valueYamlFiles")) and not isinstance(form["values"], Secret):
        form["values"] = Secret(form["values"])
    return form


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Helm's merge: maps key by key; other values, including lists and nulls, are replaced."""
    result = copy.deepcopy(dict(base))
    for key, value in over.items():
        below = result.get(key)
        result[key] = merged(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return result


def _from_files(files: list[Any]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for file in files:
        if isinstance(file, Unknown):
            continue
        text = _asset_text(file)
        try:
            loaded = yaml.safe_load(text) or {}
        except yaml.YAMLError as error:
            raise UserError(f"valueYamlFiles: not valid YAML: {error}") from None
        if not isinstance(loaded, dict):
            raise UserError(f"valueYamlFiles: each file must contain a map of values, not {type(loaded).__name__}")
        values = merged(values, loaded)
    return values


def _asset_text(asset: Any) -> str:
    if not isinstance(asset, dict) or asset.get(_SIGNATURE) != _ASSET:
        raise UserError(f"valueYamlFiles: each entry must be an asset (pulumi.FileAsset), not {type(asset).__name__}")
    if "text" in asset:
        return str(asset["text"])
    try:
        if "path" in asset:
            return Path(asset["path"]).read_text()
        answer = urllib3.request("GET", asset["uri"], redirect=True)
    except (OSError, urllib3.exceptions.HTTPError) as error:
        raise UserError(f"valueYamlFiles: cannot read {asset.get('path') or asset.get('uri')}: {error}") from None
    if answer.status != 200:
        raise UserError(f"valueYamlFiles: cannot read {asset['uri']}: HTTP status {answer.status}")
    return answer.data.decode()
