"""The frozen records that the stages of a run take and return: one file for what each stage adds.

Import them from here. Files are named relative to the project root with POSIX slashes; lines count from 1, columns are
code points from 0; durations are seconds.
"""

from selfdebug.model.attempts import Alternative, Attempt, Declined, Firing, Pin
from selfdebug.model.candidates import Candidate, Patch, Site, Spot, Trial, Verdict
from selfdebug.model.diagnosis import (
    Caught,
    Diagnosis,
    FaultKind,
    FaultLocation,
    Link,
    Observation,
    OriginChain,
    Receiver,
)
from selfdebug.model.failures import ExceptionRecord, Failure, Frame, Place, Value, When
from selfdebug.model.outcome import EditedFile, FinalStatus, ProbeReport, Progress, Repair
from selfdebug.model.pytest_runs import Calls, Outcome, ProbeCatch, ProbeHit, PytestRun, Tier
from selfdebug.model.traces import (
    Called,
    Function,
    Pass,
    Suspects,
    Trace,
    TracedFrame,
    TracedStep,
    TracedValue,
    Tracing,
)

__all__ = [
    "Alternative",
    "Attempt",
    "Called",
    "Calls",
    "Candidate",
    "Caught",
    "Declined",
    "Diagnosis",
    "EditedFile",
    "ExceptionRecord",
    "Failure",
    "FaultKind",
    "FaultLocation",
    "FinalStatus",
    "Firing",
    "Frame",
    "Function",
    "Link",
    "Observation",
    "OriginChain",
    "Outcome",
    "Pass",
    "Patch",
    "Pin",
    "Place",
    "ProbeCatch",
    "ProbeHit",
    "ProbeReport",
    "Progress",
    "PytestRun",
    "Receiver",
    "Repair",
    "Site",
    "Spot",
    "Suspects",
    "Tier",
    "Trace",
    "TracedFrame",
    "TracedStep",
    "TracedValue",
    "Tracing",
    "Trial",
    "Value",
    "Verdict",
    "When",
]
