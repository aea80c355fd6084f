"""Stages of a pipeline: which parts of the input need work, results of parts, and the version that they make.

A stage's own program can be written in any language, so three steps around it do the rest: `plan` before, `keep` after
each part, `commit` at the end. Each may be killed at any point and run again. Like `tensorplane.datasets`, they need
only Python's standard library, 3.9 or newer.
"""
