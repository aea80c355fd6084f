"""Shared basics that import no other package of `components`: models of settings, faults, labels, quantities."""
