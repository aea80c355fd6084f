"""Files that were copied to this machine and are one there: not all file systems tell `A` from `a`, or the two forms of
`é` apart.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path

from components.base.problems import legible


def faults(folder: Path, paths: Iterable[str]) -> Iterator[str]:
    """A line for each two of these files of a folder that are one, of which the second has replaced the first. Raises
    OSError where a file is missing.
    """
    seen: dict[str, str] = {}
    for path in paths:
        other = seen.setdefault(unicodedata.normalize("NFC", path).casefold(), path)
        about = (folder / path).stat() if other != path else None
        # With several names, such as hard links made here, they have one content.
        if about and about.st_nlink == 1 and os.path.samestat(about, (folder / other).stat()):
            problem = f"are one file in {legible(str(folder))}, whose file system takes these names for the same"
            yield f"{legible(other)} and {legible(path)}: {problem}; copy them to another one"
