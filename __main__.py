"""The Pulumi program: load the stack's settings, build what they say, export what it offers."""

import pulumi

import stack

for name, value in stack.build(stack.StackConfig.load()).items():
    pulumi.export(name, value)
