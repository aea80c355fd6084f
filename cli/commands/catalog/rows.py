"""What the catalog's table shows: an accelerator with its offers, a family of plain machines."""

from __future__ import annotations

from dataclasses import dataclass

from components.catalog import Accelerator, Cloud, Machine, Price


@dataclass(frozen=True)
class Offer:
    """A machine with an accelerator, at its price."""

    machine: Machine
    price: Price | None
    """In the region asked about, or the lowest of all regions."""


@dataclass(frozen=True)
class Row:
    """An accelerator and what is rented of it."""

    accelerator: Accelerator
    offers: tuple[Offer, ...]
    """By cloud and number of accelerators, the smallest first: what a node group gets by default."""


@dataclass(frozen=True)
class Family:
    """Machines without accelerators that differ in their size only, the smallest first."""

    cloud: Cloud
    name: str
    machines: tuple[Machine, ...]
    price: Price | None
    """Of the smallest."""
