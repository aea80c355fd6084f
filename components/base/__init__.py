"""Shared basics that import no other package of `components`: models of settings, problems, labels, quantities."""
