"""The library's former name, by which programs of deployed runs import it: a run keeps its files as they are."""

from tensorplane import __path__, __version__  # noqa: F401
