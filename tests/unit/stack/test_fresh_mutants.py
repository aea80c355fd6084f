"""Mutants of every stack, by a seed: each is refused in lines that can be read, or can be built and does something.

They follow from the seed; tests/queues/test_fresh_mutants.py has a cluster look at them.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.mutants import fresh, oracle
from tests.support import counts

COUNT = counts.of(quick=20, nightly=5000)
SEED = counts.seed()


@pytest.mark.counted
def test_mutants_are_refused_in_lines_or_work(tmp_path: Path) -> None:
    answers: Counter[str] = Counter()
    wrong = []
    for mutant in fresh.mutants(COUNT, SEED):
        found = oracle.outcome(mutant, tmp_path)
        answers["accepted" if found.made else "encrypted" if found.unread else "refused"] += 1
        wrong += [f"{mutant}\n    {flaw}" for flaw in oracle.flaws(mutant, found, tmp_path)]
    print(dict(answers))
    assert wrong == []
    assert answers["accepted"] > COUNT / 20
    assert answers["refused"] > COUNT / 3


def test_a_seed_makes_the_same_mutants_again() -> None:
    once, again, other = (list(fresh.mutants(6, seed)) for seed in (1, 1, 2))
    assert once == again != other
