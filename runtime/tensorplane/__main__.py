"""Runs a program of the library: `python3 -m tensorplane launch python3 train.py`, also of its archive."""

import runpy
import sys

runpy.run_module(f"tensorplane.{sys.argv.pop(1)}", run_name="__main__", alter_sys=True)
