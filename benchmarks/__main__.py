"""Runs one of the measurements: `python -m benchmarks NAME [OPTIONS]`; without a name, lists them."""

from __future__ import annotations

import importlib
import sys

MEASUREMENTS = {
    "tier-agreement": "benchmarks.tier_agreement",
    "candidate-cost": "benchmarks.candidate_cost",
    "statement-edit": "benchmarks.statement_edit",
    "snapshot": "benchmarks.snapshot_cost",
    "plugin-overhead": "benchmarks.plugin_overhead",
    "batch": "benchmarks.batch_cost",
    "limits": "benchmarks.limits",
    "whole-run": "benchmarks.whole_run",
    "origin-cost": "benchmarks.origin_cost",
    "log-reading": "benchmarks.log_reading",
    "why-questions": "benchmarks.why_questions",
    "guard-removal": "benchmarks.guard_removal.measuring",
}


def main(arguments: list[str]) -> int:
    """Run the measurement that the first argument names; return its exit code, 64 for an unknown name."""
    if not arguments or arguments[0] not in MEASUREMENTS:
        print(__doc__)
        for name, module in MEASUREMENTS.items():
            print(f"  {name:16} {(importlib.import_module(module).__doc__ or '').splitlines()[0]}")
        return 64 if arguments else 0
    return int(importlib.import_module(MEASUREMENTS[arguments[0]]).main(arguments[1:]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
