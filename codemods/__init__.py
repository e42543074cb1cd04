"""Home of the codemods; its path is extended so that a project's own `codemods` folder can live beside it."""

from pkgutil import extend_path

__path__ = extend_path(__path__, __name__)
