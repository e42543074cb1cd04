"""A patch file: what `git apply` and `patch -p1` accept, byte for byte, and nothing else."""

from __future__ import annotations

from selfdebug.model import Repair
from selfdebug.reports.base import Example, Report, View
from selfdebug.reports.evidence import whole_diff


def render(repair: Repair, _view: View) -> bytes:
    """The diff of the run; nothing where nothing was patched or proposed."""
    return whole_diff(repair.diffs)


EXPECTED_KEPT = """\
diff --git a/shop/discount.py b/shop/discount.py
--- a/shop/discount.py
+++ b/shop/discount.py
@@ -5,6 +5,6 @@
 # What a customer saves, in percent
 def discount(customers, email):
     customer = find(customers, email)
-    if customer.orders > 10:  # a regular
+    if customer is not None and customer.orders > 10:  # a regular
         return 15
     return 0
"""

REPORT = Report(
    name="diff",
    summary="A patch for `git apply` or `patch -p1`.",
    render=render,
    examples=(Example("kept", EXPECTED_KEPT), Example("nothing_failed", "")),
    suffixes=(".diff", ".patch"),
)
