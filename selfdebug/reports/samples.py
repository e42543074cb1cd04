"""Small finished runs, as records: the examples of the report formats are rendered from them."""

from __future__ import annotations

from dataclasses import replace

from codemods.selfdebug.spans import Span
from selfdebug.model import (
    Alternative,
    Attempt,
    Candidate,
    Caught,
    Diagnosis,
    EditedFile,
    ExceptionRecord,
    Failure,
    FaultKind,
    FaultLocation,
    FinalStatus,
    Firing,
    Frame,
    Link,
    Observation,
    Patch,
    Pin,
    Place,
    Receiver,
    Repair,
    Site,
    Tier,
    Trial,
    Value,
    Verdict,
    When,
)

_FILE = "shop/discount.py"
_TEST = "tests/test_discount.py::test_a_guest_gets_no_discount"
_MESSAGE = "'NoneType' object has no attribute 'orders'"
_BEFORE = b"""\
def find(customers, email):
    return customers.get(email)


# What a customer saves, in percent
def discount(customers, email):
    customer = find(customers, email)
    if customer.orders > 10:  # a regular
        return 15
    return 0
"""
_AFTER = _BEFORE.replace(b"if customer.orders", b"if customer is not None and customer.orders")
_EXPRESSION, _RECEIVER = Span(8, 7, 8, 22), Span(8, 7, 8, 15)
_NONE = Value("NoneType", "None", is_none=True)
_EXCEPTION = ExceptionRecord("AttributeError", _MESSAGE, name="orders")
_LOCALS = (("customers", Value("dict", "{}")), ("email", Value("str", "'ada@example.org'")), ("customer", _NONE))

_FAILURE = Failure(
    node_id=_TEST,
    when=When.CALL,
    exception=_EXCEPTION,
    frames=(
        Frame("tests/test_discount.py", 6, "test_a_guest_gets_no_discount", "tests/test_discount.py", is_test=True),
        Frame(_FILE, 8, "discount", _FILE, _EXPRESSION, "if customer.orders > 10:  # a regular", _LOCALS),
    ),
)
_DIAGNOSIS = Diagnosis(
    failure=_FAILURE,
    location=FaultLocation(
        file=_FILE,
        line=8,
        function="discount",
        kind=FaultKind.NONE_ATTRIBUTE,
        statement=Span(8, 4, 9, 17),
        statement_code="if customer.orders > 10:  # a regular\n        return 15",
        receivers=(Receiver(_EXPRESSION, _RECEIVER, "customer", "columns", "attribute", "orders"),),
    ),
    observations=(Observation(_TEST, _FILE, "customer", _RECEIVER, _NONE, sequence=1, in_failure=True),),
    caught=(Caught(_TEST, Place(_FILE, 8, "discount"), _EXCEPTION, _LOCALS),),
    origin=(
        Link(
            _FILE, 7, 15, "discount", "customer = find(customers, email)", "None", "call-result", "observed",
            "customer is what find() returned",
        ),
        Link(
            _FILE, 2, 11, "find", "return customers.get(email)", "None", "known-source", "observed",
            "dict.get() found no 'ada@example.org' and returned its default",
        ),
    ),
    sentence="customer is None where its attribute orders is read.",
)  # fmt: skip
_CANDIDATE = Candidate(
    id="c1",
    guard="condition-prefix",
    family="condition",
    file=_FILE,
    site=Site.CRASH,
    expression=_EXPRESSION,
    receiver=_RECEIVER,
    receiver_code="customer",
    default=None,
    default_source=None,
    test="not-none",
    reason="the condition is false for the None that was seen",
)
_PATCH = Patch(_CANDIDATE, _FILE, _BEFORE, _AFTER, lines_touched=1)
_USELESS = replace(
    _CANDIDATE,
    id="c2",
    guard="or-default",
    family="expression",
    default="0",
    default_source="a neutral value",
    test="truthy",
    reason="0 has no attribute orders either",
)
_EARLY = replace(
    _CANDIDATE,
    id="c3",
    guard="early-return",
    family="early-return",
    default="False",
    default_source="a neutral value",
    reason="return before the statement",
)
_EARLY_PATCH = Patch(
    _EARLY,
    _FILE,
    _BEFORE,
    _BEFORE.replace(b"    if customer.o", b"    if customer is None:\n        return False\n    if customer.o"),
    lines_touched=2,
)
_FAILED_TRIAL = Trial(_USELESS, Verdict.INEFFECTIVE, Tier.FRESH, 0.41, "the test still fails in the same place")

KEPT = Repair(
    run_id="20260101-120000-1a2b",
    exit_code=0,
    exit_reason="repaired",
    final_status=FinalStatus.PASS,
    sentence="The failing test passes with this plausible patch, and so do the 2 that passed before.",
    failures=(_FAILURE,),
    attempts=(
        Attempt(
            number=1,
            diagnosis=_DIAGNOSIS,
            trials=(
                _FAILED_TRIAL,
                Trial(_CANDIDATE, Verdict.PLAUSIBLE, Tier.FRESH, 0.39, "the whole oracle passes", _PATCH),
            ),
            kept=_PATCH,
            pins=(Pin("the value returned to a guest", pinned=False, sentence="no test notices 0 becoming 1"),),
        ),
    ),
    files_patched=(_FILE,),
    patches=(_PATCH,),
    diffs=(EditedFile(_FILE, _BEFORE, _AFTER),),
    pytest_exit_code=0,
    timings=(("ingest", 0.52), ("try", 0.8), ("verify", 0.5)),
)
"""One attempt, one patch, all tests pass."""

COMPARED = replace(
    KEPT,
    attempts=(
        replace(
            KEPT.attempts[0],
            trials=(
                *KEPT.attempts[0].trials,
                Trial(_EARLY, Verdict.PLAUSIBLE, Tier.WARM, 0.02, "the failing test passes", _EARLY_PATCH),
            ),
            pins=(
                Pin(
                    "condition customer is not None",
                    pinned=False,
                    sentence="No test of tests/test_discount.py notices when the condition customer is not None is "
                    "always false.",
                    suggestion="assert discount({'ada@example.org': 3}, 'ada@example.org') == 0",
                ),
            ),
            firings=(Firing(_TEST, 1, 1), Firing(f"{_TEST}_again", 0, 2), Firing(f"{_TEST}_either", 0, 1)),
            alternatives=(
                Alternative(
                    _EARLY_PATCH,
                    "discount(customers={}, email='ada@example.org') gives 0 with the kept patch and False with "
                    "this one.",
                    is_same=False,
                ),
            ),
        ),
    ),
)
"""The same with what the tests hold of the patch, and with another plausible one."""

ROLLED_BACK = Repair(
    run_id="20260101-120100-3c4d",
    exit_code=128,
    exit_reason="exhausted",
    final_status=FinalStatus.FAIL,
    sentence="No candidate makes the failing test pass; everything is as it was before.",
    failures=(_FAILURE,),
    attempts=(Attempt(number=1, diagnosis=_DIAGNOSIS, trials=(_FAILED_TRIAL,), kept=None),),
    rollback=True,
    backup=("stash@{0}",),
    pytest_exit_code=1,
    timings=(("ingest", 0.52), ("try", 0.41)),
)
"""All candidates failed, the tree is as before, the best attempt is in the stash."""

NOTHING_FAILED = Repair(
    run_id="20260101-120200-5e6f",
    exit_code=0,
    exit_reason="nothing-failed",
    final_status=FinalStatus.PASS,
    sentence="All 3 tests pass; there is nothing to repair.",
    pytest_exit_code=0,
)
"""Nothing to do."""

SAMPLES = {"kept": KEPT, "compared": COMPARED, "rolled_back": ROLLED_BACK, "nothing_failed": NOTHING_FAILED}
