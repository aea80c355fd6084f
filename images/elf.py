"""Removes the symbol tables of shared libraries, as sstrip does: the loader does not read them."""

from __future__ import annotations

import os
import struct
from pathlib import Path

# The fields of a 64-bit little-endian ELF file header, the only kind on the machines that the images are built for.
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")


def strip(library: Path) -> int:
    """Truncates the file after its last loaded segment; returns the removed bytes, 0 if it is not an ELF file."""
    with library.open("r+b") as file:
        head = file.read(_HEADER.size)
        if len(head) < _HEADER.size or head[:6] != b"\x7fELF\x02\x01":
            return 0
        fields = list(_HEADER.unpack(head))
        segments_at, segment_size, segment_count = fields[5], fields[9], fields[10]
        end = segments_at + segment_size * segment_count
        for number in range(segment_count):
            file.seek(segments_at + number * segment_size)
            _, _, offset, _, _, size, _, _ = _SEGMENT.unpack(file.read(_SEGMENT.size))
            end = max(end, offset + size)
        dropped: int = file.seek(0, os.SEEK_END) - end
        if segment_count == 0 or dropped <= 0:
            return 0
        fields[6], fields[11], fields[12], fields[13] = 0, 0, 0, 0  # where the section headers are, and how many
        file.seek(0)
        file.write(_HEADER.pack(*fields))
        file.truncate(end)
    return dropped
