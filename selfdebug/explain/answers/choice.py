"""Why this patch and no other: what was tried, what was turned down, why everything was put back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from selfdebug.explain.facts import Facts, TrialFact, named
from selfdebug.explain.subject import asked_guards, is_guard
from selfdebug.explain.wording import MAX_LISTED, how_it_ended, inline, span, verdicts
from selfdebug.terminal import counted


def why_patch(facts: Facts, question: str) -> Iterator[str]:
    """Why this patch: what was wrong, why this guard, what the tests said."""
    diagnosis, reason = facts.get("diagnosis.sentence"), facts.get("patch.reason")
    if not facts.kept or reason is None:
        yield "I kept no patch in this run."
        yield from why_rolled_back(facts, question)
        return
    for step in facts.kept[-MAX_LISTED:]:
        written = {write.key: write.value for write in step.writes}
        candidate = written.get("patch.candidate") or {}
        why = inline(written.get("patch.reason"))
        yield f"I kept {named(candidate)} in {written.get('patch.file')}: {why} [{step.id}]."
        if step.because:
            trial = next((one for one in facts.trials if one.step == step.because), None)
            said = f"{trial.verdict}: {inline(trial.detail)}" if trial else step.rule
            yield f"The tests decided it: {said} [{step.because}]."
    if diagnosis:
        yield f"It answers this diagnosis: {inline(diagnosis.value)} [{diagnosis.step}]."
    kept_trials = {step.because for step in facts.kept}
    others = [trial for trial in facts.trials if trial.step not in kept_trials]
    turned_down = [trial for trial in others if trial.verdict != "plausible"]
    if turned_down:
        number = counted(len(turned_down), "other candidate")
        yield f"I rejected {number}: {verdicts(turned_down)} [{span(turned_down)}]."
    yield from alternatives(facts)
    yield from pins(facts)


def why_not_guard(facts: Facts, question: str) -> Iterator[str]:
    """Why not guard G: it did not fit, it was tried and rejected, or something came before it."""
    for guard in asked_guards(facts, question.lower())[:3]:
        yield from _one_guard(facts, guard)


def _one_guard(facts: Facts, guard: str) -> Iterator[str]:
    tried = [trial for trial in facts.trials if is_guard(guard, trial.candidate)]
    refused = [(item, step) for item, step in facts.members("refusals") if item.get("guard") == guard]
    for trial in tried[:MAX_LISTED]:
        yield _what_became_of(facts, trial)
    if len(tried) > MAX_LISTED:
        more = counted(len(tried) - MAX_LISTED, "more trial")
        yield f"I made {more} of {guard}, the last is [{tried[-1].step}]."
    for item, step in refused[:MAX_LISTED]:
        yield f"{guard} did not fit: {inline(item.get('reason'))} [{step}]."
    if not tried and not refused:
        yield from _never_tried(facts, guard)


def _what_became_of(facts: Facts, trial: TrialFact) -> str:
    """Why a guard that was tried is the patch, or is not."""
    if trial.verdict != "plausible":
        return f"I tried {trial.name} and it was {trial.verdict}: {inline(trial.detail)} [{trial.step}]."
    if any(step.because == trial.step for step in facts.kept):
        return f"I did keep {trial.name} [{trial.step}]."
    other = next((item for item, _ in facts.members("comparison.others") if _is_of(item, trial)), None)
    differs = f" {inline(other.get('sentence'))}" if other else ""
    return f"I tried {trial.name} and it was plausible, but another one came before it [{trial.step}].{differs}"


def _never_tried(facts: Facts, guard: str) -> Iterator[str]:
    proposed = [(item, step) for item, step in facts.members("candidates") if is_guard(guard, item)]
    if proposed:
        item, step = proposed[0]
        last = facts.trials[-1] if facts.trials else None
        ended = f"the trials ended with {last.name}, which was {last.verdict} [{last.step}]" if last else ""
        yield f"I proposed {named(item)} but never tried it [{step}]: {ended or 'nothing was tried'}."
        return
    known = sorted({str(item.get("guard")) for item, _ in facts.members("candidates")})
    place = facts.get("location.file")
    where = f" at {place}" if place else ""
    yield f"I never considered {guard}{where}; it is neither among the candidates nor among the refusals of this run."
    if known:
        yield f"The guards I proposed were {', '.join(known)} [{next(facts.members('candidates'))[1]}]."


def _is_of(other: dict[str, Any], trial: TrialFact) -> bool:
    candidate = other.get("candidate")
    return isinstance(candidate, dict) and candidate.get("id") == trial.candidate.get("id")


def why_rolled_back(facts: Facts, _question: str) -> Iterator[str]:
    """Why everything was put back, or why not."""
    reason = facts.get("rollback.reason")
    if reason is not None:
        yield f"I rolled back because {inline(reason.value)} [{reason.step}]."
        files, backup = facts.get("rollback.files"), facts.get("rollback.backup")
        if files and files.value:
            yield f"Put back were {', '.join(map(str, files.value))} [{files.step}]."
        if backup and backup.value:
            yield f"The best attempt is kept as {', '.join(map(str, backup.value))} [{backup.step}]."
        yield from rejected(facts)
    elif facts.trace.run.status == "crashed" and facts.get("result.sentence") is None:
        yield from _cut_short(facts)
    else:
        status, result = facts.trace.run.status, facts.get("result.sentence")
        ended = f" {inline(result.value)} [{result.step}]." if result else ""
        yield f"I did not roll back: the run {how_it_ended(facts)}.{ended}"
        if status != "passed":
            yield from rejected(facts)


def _cut_short(facts: Facts) -> Iterator[str]:
    last = facts.trace.steps[-1] if facts.trace.steps else None
    when = f", during or after {last.id}" if last else ""
    yield f"The run did not end by itself: its process was gone{when}."
    for step in facts.trace.steps:
        yield from (f"{inline(error)} [{step.id}]." for error in step.errors)
    yield "The next command puts its changes back, from the journal; that is not in this trace."


def what_tried(facts: Facts, _question: str) -> Iterator[str]:
    """What was tried, and why each was rejected."""
    if not facts.trials:
        proposed = counted(len(list(facts.members("candidates"))), "candidate")
        yield f"I tried nothing; I had proposed {proposed}."
        for item, step in facts.members("refusals"):
            yield f"{item.get('guard')} did not fit: {inline(item.get('reason'))} [{step}]."
        return
    yield f"I judged {counted(len(facts.trials), 'candidate')}: {verdicts(facts.trials)}."
    for trial in facts.trials[:MAX_LISTED]:
        yield f"{trial.name}: {trial.verdict}, {inline(trial.detail)} [{trial.step}]."
    if len(facts.trials) > MAX_LISTED:
        yield f"{len(facts.trials) - MAX_LISTED} more: read_narrative tells each."


def rejected(facts: Facts) -> Iterator[str]:
    """What was judged, and why the first of it was not kept."""
    if not facts.trials:
        refusals = list(facts.members("refusals"))
        no_fit = f"; {counted(len(refusals), 'guard')} did not fit [{refusals[0][1]}]" if refusals else ""
        yield f"No candidate was judged{no_fit}."
        return
    yield f"I judged {counted(len(facts.trials), 'candidate')}: {verdicts(facts.trials)} [{span(facts.trials)}]."
    for trial in [one for one in facts.trials if one.verdict != "refused"][:3]:
        yield f"{trial.name} was {trial.verdict}: {inline(trial.detail)} [{trial.step}]."


def pins(facts: Facts) -> Iterator[str]:
    """What the tests hold of the patch, part by part where they do not."""
    fact = facts.get("patch.pins")
    if fact is None:
        yield "What the tests pin of it was not examined in this run."
        return
    loose = [pin for pin in facts.items("patch.pins") if not pin.get("pinned")]
    for pin in loose[:MAX_LISTED]:
        remedy = f" To pin it: {inline(pin.get('suggestion'))}" if pin.get("suggestion") else ""
        yield f"Not pinned by any test: {inline(pin.get('part'))}; {inline(pin.get('sentence'))} [{fact.step}].{remedy}"
    if not fact.value:
        yield f"What the tests pin of it could not be told: no part of it could be varied [{fact.step}]."
    elif not loose:
        yield f"Every part of it that was varied is pinned by a test [{fact.step}]."


def alternatives(facts: Facts) -> Iterator[str]:
    """The other plausible patches of the last comparison, those that do something else one by one."""
    fact = facts.get("comparison.others")
    others = facts.items("comparison.others")
    if fact is None or not others:
        return
    differing = [other for other in others if not other.get("same")]
    for other in differing[:MAX_LISTED]:
        candidate = other.get("candidate")
        name = named(candidate) if isinstance(candidate, dict) else "another patch"
        yield f"{name} was plausible as well, but differs: {inline(other.get('sentence'))} [{fact.step}]."
    if len(others) > len(differing):
        same = counted(len(others) - len(differing), "other plausible patch", "other plausible patches")
        yield f"{same} did the same in every test [{fact.step}]."
