"""What is said of a cluster that does not answer."""

from __future__ import annotations

import re

import pytest

from tensorplane.core.api_connection import Connection
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube
from tests.support.ports import refusing


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_stopped_cluster_is_one_line_without_names_of_pythons_objects(scheme: str) -> None:
    with refusing() as port:
        connection = Connection.to(f"{scheme}://127.0.0.1:{port}", retries=0)
        with pytest.raises(UserError) as fault:
            Kube(connection, "Start it").get("/version")
    (line,) = fault.value.lines
    assert re.fullmatch(r"The cluster does not answer \([^()<>]*\)\. Start it", line), line
