"""What is left of a run: what it changed, whether that can be trusted, how long it took."""

from __future__ import annotations

from collections.abc import Iterator

from selfdebug.explain.answers.choice import alternatives, pins
from selfdebug.explain.facts import Facts
from selfdebug.explain.wording import inline, span, verdicts
from selfdebug.terminal import counted


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
        last = facts.trials[-1] if facts.trials else None
        yield f"The tests said: {inline(last.detail)} [{last.step}]." if last else "No test run is recorded for it."
    yield from pins(facts)
    yield from alternatives(facts)
    fired = facts.get("patch.fired")
    if fired and isinstance(fired.value, dict):
        acting = [count for count in fired.value.values() if count]
        tests = f"{len(acting)} of {counted(len(fired.value), 'test')} that come to it"
        yield f"The guard acted {counted(sum(acting), 'time')}, in {tests} [{fired.step}]."
    checks = [check for check in facts.trace.checks if check.looked_at]
    if facts.findings():
        yield f"I found {counted(len(facts.findings()), 'contradiction')} in this run, named below."
    elif checks:
        kinds = ", ".join(check.kind for check in checks)
        yield f"{counted(len(checks), 'integrity check')} looked at something and found nothing: {kinds}."
    else:
        yield "No integrity check had anything to look at, so that nothing was found says nothing."


def how_long(facts: Facts, _question: str) -> Iterator[str]:
    """How long, and what took the time."""
    run = facts.trace.run
    whole = (run.ended or run.started) - run.started
    starts = [call for call in facts.trace.calls if call.kind == "pytest"]
    inside = sum(call.seconds for call in starts)
    share = f", {100 * inside / whole:.0f} % of it" if whole > 0 else ""
    yield f"The run took {whole:.2f} s; {counted(len(starts), 'start')} of pytest took {inside:.2f} s{share}."
    for stage, seconds in list(facts.seconds().items())[:4]:
        steps = [step for step in facts.trace.steps if step.stage == stage]
        longest = max(steps, key=lambda step: step.seconds or 0.0)
        most = longest.seconds or 0.0
        yield f"{stage}: {seconds:.2f} s in {counted(len(steps), 'step')}, the longest {most:.2f} s [{longest.id}]."
    if facts.trials:
        each = sum(trial.seconds for trial in facts.trials) / len(facts.trials)
        number = f"{counted(len(facts.trials), 'candidate')} ({verdicts(facts.trials)})"
        yield f"I judged {number}, {each:.2f} s each [{span(facts.trials)}]."
    for call in sorted(starts, key=lambda one: -one.seconds)[:2]:
        yield f"The longest start of pytest was {call.id} with {call.seconds:.2f} s: {call.outcome} [{call.step}]"
