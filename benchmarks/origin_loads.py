"""Programs that compute a lot and fail in the end with a None, for the measurement of what tracing costs.

They are of the kinds that pyperformance knows as richards, deltablue, regex and json, written for this purpose. Each is
a module with `work(turns)`, which gives None; the test dereferences it.
"""

from __future__ import annotations

LOADS = {
    "richards": """
class Task:
    def __init__(self, number, following):
        self.number = number
        self.following = following
        self.waiting = []
        self.done = 0

    def take(self, packet):
        self.waiting.append(packet)
        return self

    def run(self, schedule):
        if not self.waiting:
            return self.following
        packet = self.waiting.pop(0)
        self.done += 1
        packet = packet * 31 % 1009
        if packet % 7:
            schedule.route(packet, self.number)
        return self.following if packet % 3 else self


class Schedule:
    def __init__(self, count):
        task = None
        self.tasks = {}
        for number in range(count):
            task = Task(number, task)
            self.tasks[number] = task
        self.last = task
        self.routed = 0

    def route(self, packet, number):
        self.routed += 1
        target = (packet + number) % len(self.tasks)
        return self.tasks[target].take(packet)

    def run(self, limit):
        task, steps = self.last, 0
        while steps < limit:
            task = task.run(self) or self.last
            steps += 1
        return steps

    def idle(self):
        for task in self.tasks.values():
            if task.done < 0:
                return task


def work(turns):
    found = None
    for turn in range(turns):
        schedule = Schedule(6)
        for packet in range(20):
            schedule.route(packet, turn % 6)
        schedule.run(400)
        found = schedule.idle()
    return found
""",
    "deltablue": """
class Variable:
    def __init__(self, value):
        self.value = value
        self.constraints = []
        self.walked = 0


class Constraint:
    def __init__(self, strength, source, target):
        self.strength = strength
        self.source = source
        self.target = target
        source.constraints.append(self)

    def is_stronger(self, other):
        return self.strength < other.strength

    def execute(self):
        self.target.value = self.scaled(self.source.value)

    def scaled(self, value):
        return (value * 3 + self.strength) % 997


class Planner:
    def __init__(self):
        self.mark = 0

    def plan(self, first):
        self.mark += 1
        todo, plan = list(first.constraints), []
        while todo:
            constraint = todo.pop()
            if constraint.target.walked == self.mark:
                continue
            constraint.target.walked = self.mark
            plan.append(constraint)
            todo.extend(constraint.target.constraints)
        return plan

    def strongest(self, plan):
        best = None
        for constraint in plan:
            if best is not None and constraint.is_stronger(best):
                best = constraint
        return best


def work(turns):
    planner, best = Planner(), None
    variables = [Variable(number) for number in range(60)]
    for number, variable in enumerate(variables[:-1]):
        Constraint(number % 5, variable, variables[number + 1])
    for turn in range(turns):
        plan = planner.plan(variables[0])
        for constraint in plan:
            constraint.execute()
        best = planner.strongest(plan)
    return best
""",
    "regex": """
import re

LINE = re.compile(r"(?P<host>[\\w.]+) - (?P<user>\\w+) \\[(?P<time>[^\\]]+)\\] (?P<status>\\d{3})")
WORDS = re.compile(r"[a-z]+(?:-[a-z]+)*")


def lines(count):
    for number in range(count):
        yield f"host{number}.example.org - user{number % 7} [12/Mar/2024:10:00:{number % 60}] {200 + number % 300}"


def parsed(line):
    match = LINE.match(line)
    if match is None:
        return None
    return match.groupdict()


def count_words(text):
    return sum(len(word) for word in WORDS.findall(text))


def work(turns):
    rows, total = [], 0
    for turn in range(turns):
        for line in lines(20):
            rows.append(parsed(line))
            total += count_words(line)
        rows.append(parsed("no line at all"))
        del rows[:-1]
    return rows[-1]
""",
    "json": """
import json


def document(number):
    return {"id": number, "tags": [str(number), "x"], "owner": {"name": "n" * (number % 9), "boss": None}, "on": True}


def walked(value):
    if isinstance(value, dict):
        return sum(walked(inner) for inner in value.values())
    if isinstance(value, list):
        return sum(walked(inner) for inner in value)
    return 1


def work(turns):
    boss = "nobody"
    for turn in range(turns):
        text = json.dumps([document(number) for number in range(10)])
        data = json.loads(text)
        walked(data)
        boss = data[turn % 10]["owner"]["boss"]
    return boss
""",
}

TEST = """
import os

import load


def test_it():
    found = load.work(int(os.environ["ORIGIN_COST_TURNS"]))
    found.name
"""

CLOCK = """
import atexit
import os
import time

import pytest


def note(began, mode):
    with open(os.environ["ORIGIN_COST_CLOCK"], mode) as stream:
        stream.write(f"{time.process_time() - began} ")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call():
    began = time.process_time()
    atexit.register(note, began, "a")
    yield
    note(began, "w")
"""
"""CPU seconds from the beginning of the test to its end, and to that of the process: with what a tool writes then."""
