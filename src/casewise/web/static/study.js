// Keys, the next page without a reload, and answers that survive a lost connection.
// Without this script the page works by its forms alone.
"use strict";
(() => {
  const keys = { r: "respond", f: "refuse", a: "ask" };
  let byHand = false;
  let sending = false;

  const form = () => document.getElementById("decide");
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));

  for (const kind of ["pointerdown", "keydown", "touchstart"]) {
    addEventListener(kind, (event) => { if (event.isTrusted) byHand = true; }, { capture: true, passive: true });
  }

  // The answer waits until the first lines of the request and of the situation were both on the screen for half a
  // second, and the situation's last line where the design asks for it. What is seen is measured against what covers
  // it: the pinned request, and the bar of buttons. Each line of the situation is watched.
  const LOOK_MS = 100;
  const ENOUGH_MS = 500;
  const LINE_PX = 24;
  let sight;

  function line(element, last) {
    const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    const text = last ? texts.lastChild() : texts.nextNode();
    if (!text) return element.getBoundingClientRect();
    const range = document.createRange();
    range.setStart(text, last ? Math.max(0, text.length - 1) : 0);
    range.setEnd(text, last ? text.length : Math.min(1, text.length));
    return range.getBoundingClientRect();
  }

  // Between which heights of the window something is uncovered: the pinned request itself, or what scrolls under it.
  function uncovered(pinned) {
    const bar = document.querySelector(".choices");
    const covered = bar && getComputedStyle(bar).position === "fixed" ? bar.getBoundingClientRect().height : 0;
    const box = document.querySelector(pinned ? ".request blockquote" : ".request").getBoundingClientRect();
    const early = document.getElementById("early");
    const notice = early && !early.hidden ? early.getBoundingClientRect().top : innerHeight;
    const bottom = Math.min(innerHeight - covered, notice);
    return pinned ? [Math.max(0, box.top - 1), Math.min(bottom, box.bottom + 1)] : [Math.max(0, box.bottom), bottom];
  }

  // At once: in the middle of a smooth scroll a second press would start from lines that were not read.
  const move = (px) => scrollBy({ top: px, behavior: "instant" });

  // The boxes of the situation's lines, as it is laid out now: another width or zoom makes other lines.
  function lines() {
    return [...document.querySelectorAll(".panel dd")].flatMap((text) => {
      const range = document.createRange();
      range.selectNodeContents(text);
      return [...range.getClientRects()];
    });
  }

  // What was not on the screen yet is read next: the first line that never was, just under what is pinned.
  function leadToUnread() {
    const unread = sight.panel ? sight.lines.findIndex((ms) => ms === 0) : -1;
    if (unread < 0) return false;
    move(lines()[unread].top - uncovered(false)[0] - 8);
    return true;
  }

  // A screen further leaves a line of the last one in view, whatever is pinned above and below.
  function turn(direction) {
    const [top, bottom] = uncovered(false);
    move(direction * Math.max(LINE_PX, bottom - Math.max(0, top) - 2 * LINE_PX));
  }

  function isSeen(part) {
    if (document.visibilityState !== "visible") return false;
    const [top, bottom] = uncovered(part.pinned);
    const box = line(part.element, part.last);
    return box.top >= top && box.bottom <= bottom;
  }

  function look() {
    if (!form()) return;
    const now = performance.now();
    const ms = Math.min(now - sight.looked, 2 * LOOK_MS);
    sight.looked = now;
    for (const part of sight.parts) {
      if (part.seen_s !== null) continue;
      part.for_ms = isSeen(part) ? part.for_ms + ms : 0;
      if (part.for_ms >= ENOUGH_MS) part.seen_s = (now - sight.begun) / 1000;
    }
    if (sight.panel && document.visibilityState === "visible") {
      const [top, bottom] = uncovered(false);
      const boxes = lines();
      const before = boxes.map((_, n) => sight.lines[Math.floor((n * sight.lines.length) / boxes.length)] ?? 0);
      sight.lines = before.map((sum, n) => sum + (boxes[n].top >= top && boxes[n].bottom <= bottom ? ms : 0));
      if (sight.lines.some((sum, n) => sum > before[n])) sight.panel_ms += ms;
    }
    if (ready()) enable(true);
  }

  const ready = () => sight.parts.every((part) => part.seen_s !== null || part.optional);

  function enable(yes) {
    for (const button of form().querySelectorAll("[data-waits]")) button.setAttribute("aria-disabled", String(!yes));
    form().toggleAttribute("data-ready", yes);
  }

  function begin() {
    if (!form()) return;
    const parts = [{ name: "request_s", element: document.querySelector(".request blockquote"), pinned: true }];
    const texts = document.querySelectorAll(".panel dd");
    if (texts.length) {
      const optional = !form().hasAttribute("data-end");
      parts.push({ name: "situation_s", element: texts[0] });
      parts.push({ name: "end_s", element: texts[texts.length - 1], last: true, optional });
    }
    sight = {
      begun: performance.now(), looked: performance.now(), scrolled: 0, at: scrollY, away: 0, away_ms: 0, left: null,
      panel: document.querySelector(".panel .groups"), panel_ms: 0, lines: lines().map(() => 0),
      parts: parts.map((part) => ({ ...part, for_ms: 0, seen_s: null })),
    };
    enable(false);
  }

  function seen() {
    const round = (number) => Math.round(number * 1000) / 1000;
    const shown_s = round((performance.now() - sight.begun) / 1000);
    const found = { shown_s, scrolled_px: Math.round(sight.scrolled), away: sight.away, away_s: round(sight.away_ms / 1000) };
    for (const part of sight.parts) if (part.seen_s !== null) found[part.name] = round(part.seen_s);
    if (sight.panel) {
      found.situation_share = round(sight.lines.filter((ms) => ms >= ENOUGH_MS).length / sight.lines.length);
      found.situation_view_s = round(sight.panel_ms / 1000);
    }
    return JSON.stringify(found);
  }

  addEventListener("scroll", () => {
    if (!sight) return;
    sight.scrolled += Math.abs(scrollY - sight.at);
    sight.at = scrollY;
  }, { passive: true });
  document.addEventListener("visibilitychange", () => {
    if (!sight) return;
    if (document.visibilityState === "hidden") {
      sight.away += 1;
      sight.left = performance.now();
    } else if (sight.left !== null) {
      sight.away_ms += performance.now() - sight.left;
      sight.left = null;
    }
  });
  setInterval(look, LOOK_MS);

  async function send(body) {
    for (let attempt = 0; ; attempt += 1) {
      try {
        const headers = { "X-Casewise-Script": "1" };
        const answer = await fetch(form().action, { method: "POST", headers, body, credentials: "same-origin" });
        if (answer.status < 500) return await answer.text();
      } catch {
        // The network is down; the same answer sent twice counts once.
      }
      document.getElementById("offline").hidden = false;
      await wait(Math.min(1000 * 2 ** attempt, 15000));
    }
  }

  function show(text) {
    const next = new DOMParser().parseFromString(text, "text/html");
    if (!next.getElementById("decide")) {
      location.reload();
      return;
    }
    document.title = next.title;
    document.body.replaceWith(next.body);
    scrollTo(0, 0);
    document.getElementById("main").focus({ preventScroll: true });
    byHand = false;
    sending = false;
    begin();
  }

  addEventListener("submit", async (event) => {
    if (event.target !== form()) return;
    event.preventDefault();
    const skips = event.submitter && event.submitter.value === "skip";
    const unseen = sight.parts.find((part) => part.seen_s === null && !part.last);
    if (sending) return;
    document.getElementById("early").hidden = skips || ready();
    if (!skips && !ready()) {
      if (unseen && unseen.pinned) unseen.element.scrollIntoView({ block: "start" });
      else document.getElementById("unread").hidden = !leadToUnread();
    }
    if (!skips && !ready()) return;
    sending = true;
    const body = new URLSearchParams(new FormData(form(), event.submitter));
    body.set("hand", byHand ? "yes" : "no");
    body.set("sight", seen());
    for (const button of form().querySelectorAll("button")) button.setAttribute("aria-disabled", "true");
    show(await send(body));
  });

  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !form()) return;
    const scrolls = event.target.scrollHeight > event.target.clientHeight && event.target.matches("blockquote");
    if (scrolls || event.target.closest("textarea, select, input, button, a, summary")) return;
    const turns = { PageDown: 1, PageUp: -1, " ": event.shiftKey ? -1 : 1 }[event.key];
    if (!turns) return;
    event.preventDefault();
    turn(turns);
  });

  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (event.target.closest("textarea, select, input:not([type=radio], [type=checkbox])")) return;
    const decision = keys[event.key.toLowerCase()];
    if (decision) form().querySelector(`.choices [name="decision"][value="${decision}"]`)?.click();
    if (event.key.toLowerCase() === "u") document.getElementById("undo").requestSubmit();
  });

  begin();
  addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
})();
