"""Runs one Pulumi program in the user's Python: settings come as JSON on standard input, never in the environment.

The configuration contains decrypted secrets; from standard input, the user's subprocesses do not inherit them.
This file imports nothing of this project: the Python that runs it is the user's.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import runpy
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

EXIT_ERROR_SHOWN = 32
"""Exit status that tells the language host that the error has been shown."""

INTERRUPTED = 130

_ENGINE_ENDED = "resource monitor shut down"


def main() -> int:
    """Configures the SDK, runs the program to its end, and reports a failure in one message."""
    request = json.load(sys.stdin)
    here = str(Path(__file__).parent)
    sys.path[:] = [folder for folder in sys.path if folder != here]
    try:
        import pulumi
    except ImportError as error:
        print(f"{sys.executable} cannot import the Pulumi SDK ({error}); {request['remedy']}", file=sys.stderr)
        return EXIT_ERROR_SHOWN
    pulumi.runtime.set_all_config(request["config"], request["secret_keys"])
    pulumi.runtime.configure(pulumi.runtime.Settings(**request["settings"]))
    sys.argv = [request["program"], *request["arguments"]]
    # A failed program leaves futures that are never awaited; asyncio would report each of them after the real message.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    try:
        _run(request["program"], request["settings"]["parallel"])
    except KeyboardInterrupt:
        _leave_at_once()
    except SystemExit as leaving:
        if leaving.code in (None, 0):
            return 0
        _error(f"the program left with sys.exit({leaving.code!r})")
        return EXIT_ERROR_SHOWN
    except pulumi.RunError as error:
        _error(str(error))
        return EXIT_ERROR_SHOWN
    except BaseException as error:  # the program's own error, whatever it is: shown with its traceback
        if not _is_an_answer(error):
            _error("the program failed:\n" + _traceback(error))
        elif str(error) != _ENGINE_ENDED:  # the error has been reported
            _error(str(error))
        return EXIT_ERROR_SHOWN
    return 0


def _run(program: str, parallel: int) -> None:
    import pulumi

    if Path(program).is_dir() and not (Path(program) / "__main__.py").exists():
        raise pulumi.RunError(f"{Path(program).resolve()}: has no __main__.py to run")
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    # The SDK blocks a thread for each running resource operation, and a few for what they wait for.
    executor = ThreadPoolExecutor(max_workers=max(parallel, 1) * 4)
    loop.set_default_executor(executor)
    try:
        loop.run_until_complete(pulumi.runtime.run_in_stack(lambda: _execute(program)))
    finally:
        executor.shutdown(wait=False, cancel_futures=True)
        loop.close()


def _execute(program: str) -> None:
    try:
        runpy.run_path(program, run_name="__main__")
    except KeyboardInterrupt:
        # The SDK would first wait for answers from an engine that is shutting down.
        _leave_at_once()


def _leave_at_once() -> None:
    # Threads that wait for an engine that is shutting down would delay the interpreter's exit.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(INTERRUPTED)


def _error(message: str) -> None:
    import pulumi

    try:
        pulumi.log.error(message)
    except Exception:  # the engine has ended, so only standard error is left
        print(message, file=sys.stderr)


def _is_an_answer(error: BaseException) -> bool:
    """Whether the SDK raised it for an answer of the engine or a plugin: its text needs no traceback."""
    import pulumi

    frames = traceback.extract_tb(error.__traceback__)
    return type(error) is Exception and bool(frames) and frames[-1].filename.startswith(tuple(pulumi.runtime.__path__))


def _traceback(error: BaseException) -> str:
    """The traceback from the user's first frame on, without ours, asyncio's, runpy's and the SDK's start."""
    import pulumi

    ours: tuple[Any, ...] = (
        __file__,
        runpy.__file__,
        "<frozen runpy>",
        *asyncio.__path__,
        *pulumi.runtime.__path__,
    )
    frame = error.__traceback__
    while frame and frame.tb_frame.f_code.co_filename.startswith(ours):
        frame = frame.tb_next
    return "".join(traceback.format_exception(type(error), error, frame or error.__traceback__)).rstrip()


if __name__ == "__main__":
    sys.exit(main())
