"""What the driver answers instead of doing what it was asked: a code of gRPC's and a reason."""

from __future__ import annotations

import grpc


class Refusal(Exception):
    """One line for whoever asked."""

    def __init__(self, code: grpc.StatusCode, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


def invalid(reason: str) -> Refusal:
    """The request itself is wrong; asking again does not help."""
    return Refusal(grpc.StatusCode.INVALID_ARGUMENT, reason)


def missing(reason: str) -> Refusal:
    """There is nothing of that name."""
    return Refusal(grpc.StatusCode.NOT_FOUND, reason)


def taken(reason: str) -> Refusal:
    """The name belongs to something else."""
    return Refusal(grpc.StatusCode.ALREADY_EXISTS, reason)


def out_of_range(reason: str) -> Refusal:
    """A size that cannot be."""
    return Refusal(grpc.StatusCode.OUT_OF_RANGE, reason)


def full(reason: str) -> Refusal:
    """There is no room; once there is, asking again helps."""
    return Refusal(grpc.StatusCode.RESOURCE_EXHAUSTED, reason)


def in_use(reason: str) -> Refusal:
    """It would be possible if nobody used it."""
    return Refusal(grpc.StatusCode.FAILED_PRECONDITION, reason)


def busy(reason: str) -> Refusal:
    """Another call works on the same thing; ask again."""
    return Refusal(grpc.StatusCode.ABORTED, reason)
