"""The error of both APIs: a canonical status code and a message."""

from __future__ import annotations

import grpc
import tensorflow as tf

# http_server.cc, ToHTTPStatusCode
_HTTP = {
    grpc.StatusCode.INVALID_ARGUMENT: 400,
    grpc.StatusCode.FAILED_PRECONDITION: 400,
    grpc.StatusCode.OUT_OF_RANGE: 400,
    grpc.StatusCode.NOT_FOUND: 404,
    grpc.StatusCode.ALREADY_EXISTS: 409,
    grpc.StatusCode.ABORTED: 409,
    grpc.StatusCode.PERMISSION_DENIED: 403,
    grpc.StatusCode.RESOURCE_EXHAUSTED: 429,
    grpc.StatusCode.UNAUTHENTICATED: 401,
    grpc.StatusCode.UNIMPLEMENTED: 501,
    grpc.StatusCode.UNAVAILABLE: 503,
}
_BY_NUMBER = {code.value[0]: code for code in grpc.StatusCode}


class ServingError(Exception):
    """Why a request is refused."""

    def __init__(self, code: grpc.StatusCode, message: str) -> None:
        """`message`: lines are joined."""
        self.code, self.message = code, " ".join(line.strip() for line in message.splitlines())
        super().__init__(self.message)

    @property
    def http_status(self) -> int:
        return _HTTP.get(self.code, 500)


def invalid_argument(message: str) -> ServingError:
    """The request is invalid."""
    return ServingError(grpc.StatusCode.INVALID_ARGUMENT, message)


def not_found(message: str) -> ServingError:
    """Something that the request names does not exist."""
    return ServingError(grpc.StatusCode.NOT_FOUND, message)


def failed_precondition(message: str) -> ServingError:
    """The request is valid, but not now."""
    return ServingError(grpc.StatusCode.FAILED_PRECONDITION, message)


def unavailable(message: str) -> ServingError:
    """The server cannot answer now; a client tries again."""
    return ServingError(grpc.StatusCode.UNAVAILABLE, message)


def internal_error(error: Exception) -> ServingError:
    """An error of the server or of the model for which the request is not to blame."""
    return ServingError(grpc.StatusCode.INTERNAL, f"{type(error).__name__}: {error}")


def from_tensorflow(error: tf.errors.OpError) -> ServingError:
    """An error of TensorFlow, with its own code."""
    return ServingError(_BY_NUMBER.get(error.error_code, grpc.StatusCode.INTERNAL), error.message)
