"""Runs a module of the library, also from an archive: `python3 -I tensorplane.zip launch python3 train.py`."""

import runpy
import sys

runpy.run_module(f"tensorplane.{sys.argv.pop(1)}", run_name="__main__", alter_sys=True)
