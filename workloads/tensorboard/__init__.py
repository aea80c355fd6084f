"""TensorBoards: a Deployment that shows the event files of a volume to those who open a tunnel to it."""
