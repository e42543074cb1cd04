"""Runs a command of selfdebug that ends with its caller: `python -m selfdebug.explain.tethered FD WORDS...`.

A caller that is killed outright cannot cancel anything. The command holds one end of a pipe of which the caller holds
the other: when that is closed, for whatever reason, the command is interrupted and rolls back.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import threading


def main() -> None:
    """Watch the descriptor that the first argument names, and run the rest as the command line of selfdebug."""
    descriptor = int(sys.argv[1])
    os.set_inheritable(descriptor, False)
    threading.Thread(target=_follow, args=(descriptor,), name="caller", daemon=True).start()
    sys.argv = ["selfdebug", *sys.argv[2:]]
    runpy.run_module("selfdebug", run_name="__main__")


def _follow(descriptor: int) -> None:
    """Wait for the caller's end of the pipe to be closed; nothing is ever written to it."""
    os.read(descriptor, 1)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
