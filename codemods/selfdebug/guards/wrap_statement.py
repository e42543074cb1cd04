"""Guard: `if x is not None:` over the statement, and over the later ones that need what it binds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from codemods.selfdebug.base import CONDITIONS, Example, Family, Guard, Parameters, Refusal, Test
from codemods.selfdebug.conditions import ahead, condition_for
from codemods.selfdebug.edits import conditional, deeper, replace_run, with_name
from codemods.selfdebug.runs import dependent_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codemods.selfdebug.sites import Rewrite, Site


class WrapStatement(Guard):
    """Skips the statement where the condition does not hold; later statements that do not need it still run."""

    family = Family.WRAP
    summary = "skip the statement, and what needs its results"
    tests = CONDITIONS
    moves_body = True
    examples = (
        Example(
            "class App:\n    def refresh(self):\n"
            "        ‹«self.win.view».redraw›(force = True)\n        self.dirty = 0\n",
            "class App:\n    def refresh(self):\n        if self.win.view is not None:\n"
            "            self.win.view.redraw(force = True)\n        self.dirty = 0\n",
        ),
        Example(
            "def forget(self, key):\n    del ‹«self.cache»[key]›; return True\n",
            "def forget(self, key):\n    if self.cache is not None:\n        del self.cache[key]\n    return True\n",
        ),
        Example(
            "for box in boxes:\n    if box.open: ‹«box.lid».shut›(); n+=1\n    else: n-=1\n",
            "for box in boxes:\n    if box.open:\n        if box.lid is not None:\n            box.lid.shut()\n"
            "        n+=1\n    else: n-=1\n",
        ),
        Example(
            "async def collect(source, topic):\n"
            "    out = []\n"
            "    async for x in «source.stream(topic)»: out.append(x)\n"
            "    return out\n",
            "async def collect(source, topic):\n"
            "    out = []\n"
            "    stream = source.stream(topic)\n"
            "    if stream is not None:\n"
            "        async for x in stream: out.append(x)\n"
            "    return out\n",
        ),
        Example(
            "def f(user):\n    # greet\n    name = ‹«user».name›\n\n    greet(name)  # hello\n    return 1\n",
            "def f(user):\n    # greet\n    if user is not None:\n        name = user.name\n\n"
            "        greet(name)  # hello\n    return 1\n",
        ),
        Example(
            "for box in boxes:\n    ‹«box».lid›.shut()\n",
            "for box in boxes:\n    if hasattr(box, 'lid'):\n        box.lid.shut()\n",
            Parameters(test=Test.HAS_ATTRIBUTE),
        ),
        Example(
            "class A:\n    def f(self):\n        self.made = [make(v) for v in ‹«self.pick»(1)›]\n"
            "        return self.made\n",
            "class A:\n    def f(self):\n        if self.pick is not None:\n"
            "            self.made = [make(v) for v in self.pick(1)]\n        return self.made\n",
        ),
        Example(
            "‹«done»()›\n",
            "if callable(done):\n    done()\n",
            Parameters(test=Test.CALLABLE),
        ),
        Example(
            "show(‹len(«box»)›)\n",
            "if hasattr(box, '__len__'):\n    show(len(box))\n",
            Parameters(test=Test.HAS_ATTRIBUTE),
        ),
    )
    refusals = (
        Refusal("‹«done»()›\n", "no attribute", Parameters(test=Test.HAS_ATTRIBUTE)),
        Refusal("show(‹int(«box»)›)\n", "no attribute", Parameters(test=Test.HAS_ATTRIBUTE)),
        Refusal("class A:\n    ‹«done».__x›()\n", "private", Parameters(test=Test.HAS_ATTRIBUTE)),
        Refusal("def f(u):\n    return ‹«u».name›\n", "would be dropped"),
        Refusal("def f(u):\n    n = ‹«u».name›\n    return n\n", "would be dropped"),
        Refusal("name = ‹«user».name›\n", "would be missing"),
        Refusal("def f(u):\n    if a:\n        n = ‹«u».name›\n    return g(n)\n", "needed later"),
        Refusal("def f(u, k=‹«v».name›): pass\n", "definition"),
        Refusal("if u is not None:\n    ‹«u».save›()\n", "already guarded"),
    )

    def rewrite(self, site: Site, parameters: Parameters) -> Rewrite:
        """See the base class."""
        count = dependent_run(site)
        site = site.with_following(count)
        condition = condition_for(site, parameters)
        before = ahead(site, condition)

        def make(statements: Sequence[cst.BaseStatement]) -> Sequence[cst.BaseStatement]:
            first, *rest = statements
            skipped = [with_name(first, condition.subject, before.name), *rest]
            wrapped = conditional(before.positive, [deeper(site, each) for each in skipped])
            return [*before.hoisted, wrapped]

        return replace_run(site, count, make)
