"""Counts in sentences."""


def counted(number: float, noun: str) -> str:
    """A number and its noun: 1 GPU, 2 GPUs, 0.5 CPUs."""
    return f"{number:g} {noun}" if number == 1 else f"{number:g} {noun}s"
