"""The version of the package, read by the build and by `selfdebug --version`."""

__version__ = "0.1.0"
