"""A stage of a pipeline: counts words, and keeps those that are there LEAST times."""

import os
from collections import Counter
from pathlib import Path

words = Counter(word for path in Path("/in/texts").iterdir() for word in path.read_text().split())
least = int(os.environ["LEAST"])
lines = [f"{word} {count}\n" for word, count in words.most_common() if count >= least]
Path("/out/counts.txt").write_text("".join(lines))
