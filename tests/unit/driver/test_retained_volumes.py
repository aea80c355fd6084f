"""When `make up` lets the engine look first: a retained volume is not in the settings any more."""

from __future__ import annotations

from typing import Any

import pytest

from driver.retained_volumes import has_undeclared


def _claim(name: str, **more: Any) -> dict[str, Any]:
    return {"type": "kubernetes:core/v1:PersistentVolumeClaim", "id": f"ml/{name}", "protect": True, **more}


@pytest.mark.parametrize(
    ("resources", "given_up"),
    [
        ([], False),
        ([_claim("models")], False),
        ([_claim("models"), _claim("gone")], True),
        ([_claim("gone", protect=False)], False),
        ([_claim("gone", type="kubernetes:core/v1:Namespace")], False),
        ([_claim("models", id="elsewhere/models")], True),
    ],
)
def test_it_looks_first_where_a_retained_volume_is_given_up(resources: list[dict[str, Any]], given_up: bool) -> None:
    assert has_undeclared({"deployment": {"resources": resources}}, {"ml/models"}) == given_up
    assert not has_undeclared({"deployment": {}}, ())
