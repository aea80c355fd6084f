"""A stand-in for the tensorflow/serving image where it is not available: its flags, REST and gRPC API, in Python."""
