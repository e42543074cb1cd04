"""What a question is about: the guard or the name of the program that it mentions."""

from __future__ import annotations

import re
from typing import Any

from selfdebug.explain.facts import Facts

COMMON = frozenset(
    """the and for that this with from did does was were why what where how you your not there have has had value which
    come came none it is in of to a an do be on at by who when are can will would could into run file line test tests
    patch""".split()  # noqa: SIM905 - words to be read, not a list to be edited
)
"""Words that name nothing of a program."""


def asked_name(facts: Facts, question: str) -> str | None:
    """The name of the program that the question is about: quoted, or one that the run observed."""
    quoted = re.search(r"[`'\"]([^`'\"]+)[`'\"]", question)
    if quoted:
        return quoted[1]
    prefix = "observation."
    known = [w.key.removeprefix(prefix) for s in facts.trace.steps for w in s.writes if w.key.startswith(prefix)]
    chain = " ".join(f"{link.get('code')}" for link in facts.items("origin.chain"))
    names = sorted(set(known) | set(re.findall(r"[A-Za-z_]\w*", chain)), key=len, reverse=True)
    words = [word for word in re.findall(r"[A-Za-z_][\w.]*", question) if word.lower() not in COMMON]
    for name in names:
        if name in words:
            return name
    found = re.search(r"where (?:did|does|was|is) (?:the )?(?:value of )?([A-Za-z_][\w.]*)", question)
    return found[1] if found and found[1].lower() not in COMMON else None


def asked_guards(facts: Facts, low: str) -> list[str]:
    """The guards that a question names: known to the run, or written like an id (`early-return`)."""
    known = {str(item.get("guard")) for key in ("candidates", "refusals") for item, _ in facts.members(key)}
    known |= {str(trial.candidate.get("guard")) for trial in facts.trials}
    ids = {str(item.get("id")) for item, _ in facts.members("candidates")}
    text = low.replace("_", "-")
    named_guards = sorted((g for g in known if g in text or g.replace("-", " ") in text), key=len, reverse=True)
    if named_guards:
        return named_guards
    by_id = [word for word in re.findall(r"[\w\-]+", text) if word in ids]
    return by_id or re.findall(r"\b[a-z]+(?:-[a-z]+)+\b", text)


def is_guard(guard: str, candidate: dict[str, Any]) -> bool:
    """Whether a candidate is the one of that id, or of that guard."""
    return guard in (candidate.get("guard"), candidate.get("id"))
