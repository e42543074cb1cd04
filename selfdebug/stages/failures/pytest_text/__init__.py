"""The parts of pytest's terminal report: one failing entry, and the short summary."""
