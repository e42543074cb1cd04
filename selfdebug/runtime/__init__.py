"""What runs inside the interpreter of the tests: the folder `path` goes on its PYTHONPATH and holds one package."""

from __future__ import annotations

from pathlib import Path

PLUGIN_NAME = "_selfdebug_plugin"
PLUGIN_FOLDER = Path(__file__).parent / "path"
