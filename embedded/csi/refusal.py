"""Errors that the driver answers with: a gRPC status code and a reason."""

from __future__ import annotations

import grpc


class Refusal(Exception):
    """A one-line reason for the caller."""

    def __init__(self, code: grpc.StatusCode, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


def invalid(reason: str) -> Refusal:
    """The request is invalid; a retry does not help."""
    return Refusal(grpc.StatusCode.INVALID_ARGUMENT, reason)


def missing(reason: str) -> Refusal:
    """Nothing with that name exists."""
    return Refusal(grpc.StatusCode.NOT_FOUND, reason)


def taken(reason: str) -> Refusal:
    """The name is in use for something else."""
    return Refusal(grpc.StatusCode.ALREADY_EXISTS, reason)


def out_of_range(reason: str) -> Refusal:
    """An impossible size."""
    return Refusal(grpc.StatusCode.OUT_OF_RANGE, reason)


def full(reason: str) -> Refusal:
    """The disk is full; a retry succeeds once space is freed."""
    return Refusal(grpc.StatusCode.RESOURCE_EXHAUSTED, reason)


def in_use(reason: str) -> Refusal:
    """The volume is in use."""
    return Refusal(grpc.StatusCode.FAILED_PRECONDITION, reason)


def busy(reason: str) -> Refusal:
    """Another call is using the same object; retry."""
    return Refusal(grpc.StatusCode.ABORTED, reason)
