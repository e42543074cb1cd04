"""Where the program begins: `selfdebug` and `python -m selfdebug`."""

from __future__ import annotations

import sys
from typing import NoReturn

_INTERRUPTED = 130  # as ExitCode.INTERRUPTED, which is not imported by then


def main() -> NoReturn:
    """Run the command line; that an interruption meets its import is no reason for a traceback."""
    try:
        from selfdebug import cli
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    cli.main()


if __name__ == "__main__":
    main()
