"""Prints what the changelog says of a release: python .github/release_notes.py v1.2.3

Ends with an error unless the tag names the version of this checkout, and that version has a section of its own.
"""

import re
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]


def main(tag: str) -> str:
    """The section, without its heading."""
    (version,) = re.findall(r'__version__ = "(.+)"', (PROJECT / "runtime/tensorplane/version.py").read_text())
    if tag != f"v{version}":
        sys.exit(f"{tag}: runtime/tensorplane/version.py has {version}; tag v{version}, or change the version first")
    sections = re.split(r"(?m)^## ", (PROJECT / "CHANGELOG.md").read_text())
    notes = next((text for text in sections if re.match(rf"{re.escape(version)}\b(?!\.)", text)), "")
    if not (text := notes.partition("\n")[2].strip()):
        sys.exit(f"CHANGELOG.md: has no section {version}, or an empty one; write it before you tag {tag}")
    return text


if __name__ == "__main__":
    print(main(sys.argv[1]))
