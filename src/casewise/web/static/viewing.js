// Keys. Every page works without it.
"use strict";

const rows = [...document.querySelectorAll(".row-link")];
const typing = (target) => target.closest?.("input, textarea, select") !== null;

function step(by) {
  if (rows.length) {
    const at = rows.indexOf(document.activeElement);
    const next = rows[Math.min(rows.length - 1, Math.max(0, at + by))];
    next.focus();
    next.closest("tr").scrollIntoView({ block: "nearest" });
  } else {
    document.querySelector(by > 0 ? "a[rel=next]" : "a[rel=prev]")?.click();
  }
}

function toggleHelp() {
  const keys = document.querySelector("details.keys");
  if (keys) keys.open = !keys.open;
}

const KEYS = {
  j: () => step(1),
  k: () => step(-1),
  u: () => document.getElementById("up")?.click(),
  "/": () => document.getElementById("search")?.focus(),
  "?": toggleHelp,
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") document.activeElement?.blur();
  if (typing(event.target) || !(event.key in KEYS)) return;
  event.preventDefault();
  KEYS[event.key]();
});
