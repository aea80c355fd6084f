"""The rows of the catalog's tables: an accelerator with its offers, a family of machines without accelerators."""

from __future__ import annotations

from dataclasses import dataclass

from tensorplane.components.catalog import Accelerator, Cloud, Machine, Price


@dataclass(frozen=True)
class Offer:
    """A machine with an accelerator, at its price."""

    machine: Machine
    price: Price | None
    """In the region of the filters, or the lowest of all regions."""


@dataclass(frozen=True)
class Row:
    """An accelerator and its offers."""

    accelerator: Accelerator
    offers: tuple[Offer, ...]
    """By cloud and number of accelerators, the smallest machine first, which is a node group's default."""


@dataclass(frozen=True)
class Family:
    """Machines without accelerators that only differ in size, the smallest first."""

    cloud: Cloud
    name: str
    machines: tuple[Machine, ...]
    price: Price | None
    """Of the smallest."""
