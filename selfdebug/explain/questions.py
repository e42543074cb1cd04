"""Which kind of question it is, told by its words, and the answer of that kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from selfdebug.explain import answers
from selfdebug.explain.facts import Facts
from selfdebug.explain.subject import COMMON, asked_guards
from selfdebug.explain.wording import doubts
from selfdebug.trace.queries.base import Answer
from selfdebug.trace.queries.nodes import find
from selfdebug.trace.records import Trace


@dataclass(frozen=True, slots=True)
class Intent:
    """A kind of question: its name, the words that tell it, and the sentences that answer it."""

    name: str
    words: re.Pattern[str]
    answer: Callable[[Facts, str], Iterator[str]]


def _intent(name: str, answer: Callable[[Facts, str], Iterator[str]], *patterns: str) -> Intent:
    return Intent(name, re.compile("|".join(patterns)), answer)


INTENTS = (
    _intent(
        "why-not-guard",
        answers.why_not_guard,
        r"\bwhy (?:not|didn't you|did you not|don't you) (?:use |try |pick |choose )?(?:the )?[a-z]+-[a-z]",
    ),
    _intent(
        "how-long",
        answers.how_long,
        r"\bhow long|\bso (?:long|slow)|\bslow\b|\bduration|\bcost\b|\btook\b",
        r"\bhow (?:much|many) (?:time|seconds|tests?|runs?)",
    ),
    _intent(
        "is-it-safe",
        answers.is_it_safe,
        r"\bsafe\b|\brisk|\btrust|\bconfiden|\bcorrect\b|\bsure\b|\bside.effect|\bpinned|\bmerge\b",
        r"\bbreak (?:any|some)",
    ),
    _intent(
        "why-rolled-back",
        answers.why_rolled_back,
        r"\broll(?:ed)?[ -]?back|\brevert|\bput (?:\w+ )?back|\bundo|\bundid|\bg[ai]ve up|\bno (?:patch|fix)\b",
        r"\bwhy\b.*\b(?:you|run|it) (?:fail|stop|crash|abort|end)|\bnothing (?:kept|changed)|\bnot fix",
    ),
    _intent(
        "where-from",
        answers.where_from,
        r"\bwhere\b.*\b(?:from|come|came|born|origin|set|assigned|created)|\borigin\b",
        r"\bwho (?:set|wrote|assigned|made|returned)|\bwhy (?:is|was) .*\bnone\b|\bwhere (?:is|was) .*none",
    ),
    _intent(
        "what-changed",
        answers.what_changed,
        r"\bwhat\b.*\b(?:chang|edit|modif|touch|diff|patched)|\bwhich (?:files?|lines?)\b|\bdiff\b",
        r"\bshow .*\b(?:patch|change)",
    ),
    _intent(
        "what-tried",
        answers.what_tried,
        r"\bwhat\b.*\b(?:tried|try|alternativ|candidate|reject|attempt|else|option)|\balternativ",
        r"\bwhich (?:guards?|candidates?)|\bhow many (?:candidates?|attempts?|guards?)",
    ),
    _intent(
        "why-file",
        answers.why_file,
        r"\bwhy\b.*\b(?:files?|place|line|location|locat|here|there|module|function|frame|\w+\.py)\b",
    ),
    _intent(
        "why-patch",
        answers.why_patch,
        r"\bwhy\b.*\b(?:patch|fix|guard|chang|edit|ch[oe]+se|pick|ke[ep]+t?|did you|this|that|solution|default|add)",
        r"\bwhat made you",
    ),
    _intent(
        "what-happened",
        answers.what_happened,
        r"\bwhat (?:failed|happened|went wrong|was wrong|broke|is the (?:bug|problem|error))|\bwhich tests?\b",
        r"\bsummar|\bwhat did you do|\bwhat exception|\bwhat error",
    ),
)
"""The kinds of questions, in the order in which they are looked for."""


def answer(trace: Trace, question: str) -> Answer:
    """Answer a question about a run from its trace alone, in the first person, with step ids."""
    facts = Facts(trace)
    intent = recognised(facts, question)
    lines = list(intent.answer(facts, question) if intent else _unrecognised(facts, question))
    lines.extend(doubts(facts, lines))
    cited = list(dict.fromkeys(re.findall(r"[a-z_]+#\d+", " ".join(lines))))
    data = {"intent": intent.name if intent else None, "cited": cited, "sentences": lines}
    return Answer(tuple(lines), data, found=intent is not None, run=trace.run)


def recognised(facts: Facts, question: str) -> Intent | None:
    """The kind of the question; `why not` with the name of a guard is one about that guard."""
    low = " ".join(question.lower().split())
    asks_not = re.search(r"\bwhy\b.*(?:\bnot\b|n't|\brefus|\breject|\binstead)|\bwhat about\b", low)
    if asks_not and asked_guards(facts, low):
        return INTENTS[0]
    return next((intent for intent in INTENTS if intent.words.search(low)), None)


def _unrecognised(facts: Facts, question: str) -> Iterator[str]:
    yield (
        "Without a model I know these questions: why this patch, why not a guard, why this file, why rolled back, "
        "where a value came from, what changed, what was tried, how long it took, is it safe, what failed."
    )
    words = " ".join(word for word in re.findall(r"[\w.\-]{3,}", question) if word.lower() not in COMMON)
    if len(words) > 1:
        yield "What the trace holds of the words of yours:"
        yield from find(facts.trace, {"query": words, "max_hits": 5}).lines
