"""A stand-in for tensorflow/serving where that image cannot be had: the same flags, REST and gRPC API, in Python."""
