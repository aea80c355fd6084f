"""Named, versioned collections of files on a volume: commits, branches, labels, plain files of any version.

Everything here needs only Python's standard library and a POSIX file system with atomic renames and hard links, so that
a stage's container, an agent and a developer's machine use the same code. `Dataset` is the entry; `python3 -m
tensorplane.datasets` is the same for programs in other languages.
"""

from tensorplane.datasets.commit import Commit, Note
from tensorplane.datasets.dataset import Dataset
from tensorplane.datasets.errors import Refused
from tensorplane.datasets.retention import Rule
from tensorplane.datasets.table import Table
from tensorplane.datasets.tree import Conflict, File

__all__ = ["Commit", "Conflict", "Dataset", "File", "Note", "Refused", "Rule", "Table"]
