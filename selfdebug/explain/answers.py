"""The answers without a model: each kind of question is answered from the facts of the trace, in the first person.

Every claim names the step that it rests on, in brackets; what the trace does not hold is said not to be in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from selfdebug.explain.facts import Fact, Facts, TrialFact, named
from selfdebug.explain.subject import asked_guards, asked_name, is_guard
from selfdebug.explain.wording import exception_text, inline, span, verdicts
from selfdebug.terminal import counted
from selfdebug.trace.queries.base import cut, shown

MAX_LISTED = 8
NOT_IN_TRACE = "That is not in the trace"


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
        yield f"I kept {named(candidate)} in {written.get('patch.file')} because {why} [{step.id}]."
        if step.because:
            trial = next((one for one in facts.trials if one.step == step.because), None)
            said = f"{trial.verdict}: {inline(trial.detail)}" if trial else step.rule
            yield f"The tests decided it: {said} [{step.because}]."
    if diagnosis:
        yield f"It answers this diagnosis: {inline(diagnosis.value)} [{diagnosis.step}]."
    kept_trials = {step.because for step in facts.kept}
    others = [trial for trial in facts.trials if trial.step not in kept_trials]
    rejected = [trial for trial in others if trial.verdict != "plausible"]
    if rejected:
        yield f"I rejected {len(rejected)} other candidates: {verdicts(rejected)} [{span(rejected)}]."
    yield from _alternatives(facts)
    yield from _pins(facts)


def why_not_guard(facts: Facts, question: str) -> Iterator[str]:
    """Why not guard G: it did not fit, it was tried and rejected, or something came before it."""
    for guard in asked_guards(facts, question.lower())[:3]:
        yield from _one_guard(facts, guard)


def _one_guard(facts: Facts, guard: str) -> Iterator[str]:
    tried = [trial for trial in facts.trials if is_guard(guard, trial.candidate)]
    refused = [(item, step) for item, step in facts.members("refusals") if item.get("guard") == guard]
    for trial in tried[:MAX_LISTED]:
        if trial.verdict == "plausible" and any(step.because == trial.step for step in facts.kept):
            yield f"I did keep {trial.name} [{trial.step}]."
        elif trial.verdict == "plausible":
            other = next((item for item, _ in facts.members("comparison.others") if _is_of(item, trial)), None)
            differs = f" {inline(other.get('sentence'))}" if other else ""
            yield f"I tried {trial.name} and it was plausible, but another one came before it [{trial.step}].{differs}"
        else:
            yield f"I tried {trial.name} and it was {trial.verdict}: {inline(trial.detail)} [{trial.step}]."
    if len(tried) > MAX_LISTED:
        yield f"There were {len(tried) - MAX_LISTED} more trials of {guard}, the last is [{tried[-1].step}]."
    for item, step in refused[:MAX_LISTED]:
        yield f"{guard} did not fit: {inline(item.get('reason'))} [{step}]."
    if tried or refused:
        return
    proposed = [(item, step) for item, step in facts.members("candidates") if is_guard(guard, item)]
    if proposed:
        item, step = proposed[0]
        last = facts.trials[-1] if facts.trials else None
        stopped = (
            f"the trials ended with {last.name}, which was {last.verdict} [{last.step}]"
            if last
            else "nothing was tried"
        )
        yield f"I proposed {named(item)} but never tried it [{step}]: {stopped}."
        return
    known = sorted({str(item.get("guard")) for item, _ in facts.members("candidates")})
    place = facts.get("location.file")
    where = f" at {place}" if place else ""
    yield f"I never considered {guard}{where}; it is neither among the candidates nor among the refusals of this run."
    if known:
        yield f"The guards I proposed were {', '.join(known)} [{next(facts.members('candidates'))[1]}]."


def why_file(facts: Facts, question: str) -> Iterator[str]:
    """Why this file: the frame that was chosen and the expression that can have raised."""
    file, line = facts.get("location.file"), facts.get("location.line")
    if file is None:
        frame = facts.get("failure.frames")
        known = f"; the frames of the failure are in {frame.step}" if frame else ""
        yield f"I located no file in this run{known}."
        yield from what_happened(facts, question)
        return
    function = facts.get("location.function")
    where = f"{file.value}:{line.value if line else '?'}" + (f" in {function.value}" if function else "")
    receiver, evidence = facts.get("location.receiver"), facts.get("location.evidence")
    yield f"I worked on {where}, because the deepest frame of the traceback inside the project is there [{file.step}]."
    if receiver:
        by = evidence.value if evidence else "the message"
        yield f"The expression that raised is {receiver.value}, told by {by} [{receiver.step}]."
    exception = facts.get("failure.exception")
    if exception:
        yield f"The exception was {exception_text(exception.value)} [{exception.step}]."
    patched, candidate = facts.get("patch.file"), facts.get("patch.candidate")
    if patched and candidate:
        site = candidate.value.get("site") if isinstance(candidate.value, dict) else None
        if patched.value == file.value:
            yield f"The patch is in the same file, at the {site} [{patched.step}]."
        else:
            why = inline(candidate.value.get("reason"))
            yield f"The patch went to {patched.value}, at the {site}: {why} [{patched.step}]."


def why_rolled_back(facts: Facts, _question: str) -> Iterator[str]:
    """Why everything was put back, or why not."""
    reason = facts.get("rollback.reason")
    status = facts.trace.run.status
    if reason is None:
        if status == "crashed":
            last = facts.trace.steps[-1] if facts.trace.steps else None
            when = f", during or after {last.id}" if last else ""
            yield f"The run did not end by itself: its process was gone{when}."
            for step in facts.trace.steps:
                for error in step.errors:
                    yield f"{inline(error)} [{step.id}]."
            yield "The next command puts its changes back, from the journal; that is not in this trace."
            return
        result = facts.get("result.sentence")
        ended = f" {inline(result.value)} [{result.step}]." if result else ""
        yield f"I did not roll back: the run {status}.{ended}"
        if status != "passed":
            yield from _rejected(facts)
        return
    yield f"I rolled back because {inline(reason.value)} [{reason.step}]."
    files, backup = facts.get("rollback.files"), facts.get("rollback.backup")
    if files and files.value:
        yield f"Put back were {', '.join(map(str, files.value))} [{files.step}]."
    if backup and backup.value:
        yield f"The best attempt is kept as {', '.join(map(str, backup.value))} [{backup.step}]."
    yield from _rejected(facts)


def where_from(facts: Facts, question: str) -> Iterator[str]:
    """Where a value came from: the observed chain, from the receiver to its birth."""
    asked = asked_name(facts, question)
    receivers = list(dict.fromkeys(str(value) for value in facts.values("location.receiver")))
    if asked is None and not receivers:
        yield f"{NOT_IN_TRACE}: I located no value in this run."
    for name in [asked] if asked else receivers[:3]:
        yield from _way_of(facts, name)


def _way_of(facts: Facts, asked: str) -> Iterator[str]:
    seen = facts.get(f"observation.{asked}")
    if seen:
        yield f"I saw {asked} as {cut(shown(_failing(seen)), 200)} [{seen.step}]."
    links, step = _links(facts, asked)
    if step is None:
        chain = facts.get("origin.chain")
        if chain and not chain.value:
            yield f"I could not follow where {asked} came from [{chain.step}]."
        else:
            yield f"{NOT_IN_TRACE}: no origin of {asked!r} was recorded."
            yield "What is set outside the traced run cannot be known from it."
        return
    yield f"Backwards from the crash, {asked} came this way [{step}]:"
    for number, link in enumerate(links[:MAX_LISTED], 1):
        value = f" = {inline(link['value'])}" if link.get("value") else ""
        yield (
            f"{number}. {link.get('place')} in {link.get('function')}: {inline(link.get('code'))}{value}: "
            f"{inline(link.get('sentence'))} ({link.get('evidence')})"
        )
    if len(links) > MAX_LISTED:
        yield f"{len(links) - MAX_LISTED} more links: get_value(step={step}, key=origin.chain)."
    if links:
        birth = links[-1]
        yield f"It was born at {birth.get('place')} in {birth.get('function')} [{step}]; before that the trace ends."
        if any(link.get("evidence") != "observed" for link in links):
            yield "Links marked otherwise than observed were read from the code, not seen."


def what_changed(facts: Facts, _question: str) -> Iterator[str]:
    """What changed: the diff of each kept patch, or that nothing is left changed."""
    result = facts.get("result.files")
    reason = facts.get("rollback.reason")
    if reason:
        yield f"Nothing is left changed: I rolled back [{reason.step}]."
    elif result and not result.value:
        yield f"I left no file changed [{result.step}]."
    for step in facts.kept:
        written = {write.key: write.value for write in step.writes}
        kept = "tried for a while" if reason else "changed"
        yield f"I {kept} {written.get('patch.file')} [{step.id}]:"
        yield from str(written["patch.diff"]).rstrip("\n").split("\n")[:60]
    if not facts.kept and not reason and not (result and not result.value):
        yield "I kept no patch in this run, so nothing changed."


def how_long(facts: Facts, _question: str) -> Iterator[str]:
    """How long, and what took the time."""
    run = facts.trace.run
    whole = (run.ended or run.started) - run.started
    starts = [call for call in facts.trace.calls if call.kind == "pytest"]
    inside = sum(call.seconds for call in starts)
    share = f", {100 * inside / whole:.0f} % of it" if whole > 0 else ""
    yield f"The run took {whole:.2f} s; {len(starts)} starts of pytest took {inside:.2f} s{share}."
    for stage, seconds in list(facts.seconds().items())[:4]:
        steps = [step for step in facts.trace.steps if step.stage == stage]
        longest = max(steps, key=lambda step: step.seconds or 0.0)
        most = longest.seconds or 0.0
        yield f"{stage}: {seconds:.2f} s in {len(steps)} steps, the longest {most:.2f} s [{longest.id}]."
    if facts.trials:
        total = sum(trial.seconds for trial in facts.trials)
        yield (
            f"I judged {len(facts.trials)} candidates ({verdicts(facts.trials)}), {total / len(facts.trials):.2f} s "
            f"each [{span(facts.trials)}]."
        )
    for call in sorted(starts, key=lambda one: -one.seconds)[:2]:
        yield f"The longest start of pytest was {call.id} with {call.seconds:.2f} s: {call.outcome} [{call.step}]"


def is_it_safe(facts: Facts, question: str) -> Iterator[str]:
    """Whether the patch can be trusted: what the tests pin, what they do not, what contradicts."""
    if not facts.kept or facts.get("rollback.reason"):
        yield "Nothing of mine is in your files, so there is nothing to trust."
        yield from what_changed(facts, question)
        return
    verified = facts.get("verify.outcome")
    yield "A patch that passes is plausible, not proven correct."
    if verified:
        yield f"The suite over the files on disk: {inline(verified.value)} [{verified.step}]."
    else:
        kept = facts.trials[-1] if facts.trials else None
        yield f"The tests said: {inline(kept.detail)} [{kept.step}]." if kept else "No test run is recorded for it."
    yield from _pins(facts)
    yield from _alternatives(facts)
    fired = facts.get("patch.fired")
    if fired and isinstance(fired.value, dict):
        acting = [count for count in fired.value.values() if count]
        times = f"{sum(acting)} time{'s' if sum(acting) != 1 else ''}"
        yield f"The guard acted {times}, in {len(acting)} of {len(fired.value)} tests that come to it [{fired.step}]."
    checks = [check for check in facts.trace.checks if check.looked_at]
    if facts.findings():
        yield f"I found {counted(len(facts.findings()), 'contradiction')} in this run, named below."
    elif checks:
        kinds = ", ".join(check.kind for check in checks)
        yield f"{len(checks)} integrity checks looked at something and found nothing: {kinds}."
    else:
        yield "No integrity check had anything to look at, so that nothing was found says nothing."


def what_tried(facts: Facts, _question: str) -> Iterator[str]:
    """What was tried, and why each was rejected."""
    if not facts.trials:
        proposed = list(facts.members("candidates"))
        yield f"I tried nothing; {len(proposed)} candidates were proposed."
        for item, step in facts.members("refusals"):
            yield f"{item.get('guard')} did not fit: {inline(item.get('reason'))} [{step}]."
        return
    yield f"I judged {len(facts.trials)} candidates: {verdicts(facts.trials)}."
    for trial in facts.trials[:MAX_LISTED]:
        yield f"{trial.name}: {trial.verdict}, {inline(trial.detail)} [{trial.step}]."
    if len(facts.trials) > MAX_LISTED:
        yield f"{len(facts.trials) - MAX_LISTED} more: read_narrative tells each."


def what_happened(facts: Facts, _question: str) -> Iterator[str]:
    """What failed and how it ended."""
    failures, exception = facts.get("failures.count"), facts.get("failure.exception")
    node = facts.get("failure.node_id")
    if exception:
        which = f"{node.value} " if node else ""
        count = f"; {failures.value} failures in all" if failures and failures.value != 1 else ""
        yield f"{which}failed with {exception_text(exception.value)} [{exception.step}]{count}."
    elif failures:
        yield f"{failures.value} failures were read [{failures.step}]."
    diagnosis = facts.get("diagnosis.sentence")
    if diagnosis:
        yield f"{inline(diagnosis.value)} [{diagnosis.step}]."
    result = facts.get("result.sentence")
    if result:
        yield f"{inline(result.value)} [{result.step}]."
    else:
        yield f"The run {facts.trace.run.status}."


def _pins(facts: Facts) -> Iterator[str]:
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


def _alternatives(facts: Facts) -> Iterator[str]:
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
        same = len(others) - len(differing)
        yield f"{same} other plausible patch{'es' if same != 1 else ''} did the same in every test [{fact.step}]."


def _is_of(other: dict[str, Any], trial: TrialFact) -> bool:
    candidate = other.get("candidate")
    return isinstance(candidate, dict) and candidate.get("id") == trial.candidate.get("id")


def _rejected(facts: Facts) -> Iterator[str]:
    if not facts.trials:
        refusals = list(facts.members("refusals"))
        no_fit = f"; {len(refusals)} guards did not fit [{refusals[0][1]}]" if refusals else ""
        yield f"No candidate was judged{no_fit}."
        return
    yield f"I judged {len(facts.trials)} candidates: {verdicts(facts.trials)} [{span(facts.trials)}]."
    for trial in [one for one in facts.trials if one.verdict != "refused"][:3]:
        yield f"{trial.name} was {trial.verdict}: {inline(trial.detail)} [{trial.step}]."


def _failing(fact: Fact) -> Any:
    values = fact.value if isinstance(fact.value, list) else [fact.value]
    bad = [item["value"] for item in values if isinstance(item, dict) and item.get("raised") and "value" in item]
    return bad[0] if bad else values[:3]


def _links(facts: Facts, asked: str) -> tuple[list[dict[str, Any]], str | None]:
    """The chain that tells of the name: from the first link that mentions it; the whole one for the receiver itself."""
    word = re.compile(rf"(?<![\w.]){re.escape(asked)}(?!\w)")
    for step in reversed(facts.trace.steps):
        for write in step.writes:
            if write.key != "origin.chain" or not isinstance(write.value, list):
                continue
            links = [link for link in write.value if isinstance(link, dict)]
            if links and facts.as_of("location.receiver", step) == asked:
                return links, step.id
            for index, link in enumerate(links):
                if word.search(f"{link.get('code')} {link.get('sentence')}"):
                    return links[index:], step.id
    return [], None
