"""Pipelines on the embedded cluster: a commit's path on the dev stack, and by night all others on a stack of theirs."""
