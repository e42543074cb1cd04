"use strict";
// The search of the trace, and what print needs opened; without scripts every step can still be opened by hand.
const steps = [...document.querySelectorAll("details.step")];
const field = document.getElementById("search");
if (field) {
  const found = document.getElementById("found");
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const step of steps) {
      const text = step.textContent.toLowerCase();
      const shown = words.every((word) => text.includes(word));
      step.hidden = !shown;
      count += shown ? 1 : 0;
    }
    found.textContent = words.length ? `${count} of ${steps.length} steps` : "";
  });
}
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((part) => { part.open = true; }));
