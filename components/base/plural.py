"""Counts in sentences."""


def counted(number: float, noun: str) -> str:
    """A number and its noun: 1 GPU, 2 GPUs, 0.5 CPUs."""
    written = f"{number:.0f}" if float(number).is_integer() else f"{number:g}"
    return f"{written} {noun}" if number == 1 else f"{written} {noun}s"


def none_of(count: int, noun: str) -> str:
    """That none of them did something, as a sentence begins with it: `its pod has not`, `none of its 2 pods has`."""
    return f"its {noun} has not" if count == 1 else f"none of its {counted(count, noun)} has"
