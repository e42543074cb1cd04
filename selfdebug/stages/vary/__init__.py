"""From a patch to versions of its file that differ in one part of it, or that record what it does."""

from selfdebug.stages.vary.parts import Parts, parts_of
from selfdebug.stages.vary.variants import Variant, condition_part, default_part, variants
from selfdebug.stages.vary.watching import Watch, Watched, Watchpoint, name_of, watch
from selfdebug.stages.vary.within import within_functions

__all__ = [
    "Parts",
    "Variant",
    "Watch",
    "Watched",
    "Watchpoint",
    "condition_part",
    "default_part",
    "name_of",
    "parts_of",
    "variants",
    "watch",
    "within_functions",
]
