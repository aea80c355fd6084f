"""Executes the program in its arguments, after asking the kernel to end it when the language host dies.

Run as `python -I -S guard.py HOST_PID PROGRAM ARGUMENTS…`. It imports nothing of this project: the Python that runs it
is the user's.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1

if sys.platform == "linux":
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(sys.argv[1]):  # the host died before the kernel was asked
        sys.exit(1)
os.execv(sys.argv[2], sys.argv[2:])  # noqa: S606 (no shell is wanted)
