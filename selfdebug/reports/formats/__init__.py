"""One file a report format: `REPORT` names it, renders it and holds the examples that are its tests and its docs."""
