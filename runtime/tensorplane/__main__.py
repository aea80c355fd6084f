"""Runs a program of the library: `python3 -m tensorplane launch python3 train.py`, or `python3 tensorplane.zip launch …`."""

import runpy
import sys

runpy.run_module(f"tensorplane.{sys.argv.pop(1)}", run_name="__main__", alter_sys=True)
