"""The Pulumi program: load the stack's settings, build what they say, export what it offers."""

import gc

# Looking for cycles among the SDKs' thousands of classes takes a third of the time, and this process ends in seconds.
gc.disable()

import pulumi  # noqa: E402

from tensorplane import stack  # noqa: E402

for name, value in stack.build(stack.load()).items():
    pulumi.export(name, value)
