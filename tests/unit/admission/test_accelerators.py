"""Which resources are accelerators, by their names."""

from tensorplane.components.admission.accelerators import is_accelerator
from tests.support.accelerator_names import HARMLESS, SIMILAR, SOURCES


def test_resources_of_public_device_plugins_are_known() -> None:
    assert [name for name in (*SOURCES, *SIMILAR) if not is_accelerator(name)] == []


def test_other_resources_are_none() -> None:
    similar = (
        "example.com/lpuart",
        "example.com/browse",
        "example.com/ipus",
        "example.com/input",
        "example.com/output",
        "ephemeral.example.com/license",
        "ibm.com/cex",
    )
    assert [name for name in (*HARMLESS, *similar) if is_accelerator(name)] == []
