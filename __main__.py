"""The Pulumi program: load the stack's settings, build what they say, export what it offers."""

from tensorplane import stack

stack.deploy()
