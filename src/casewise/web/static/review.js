// Keeps what is typed on the page of a context, and adds shortcuts. The page works without it.
"use strict";

const editor = document.getElementById("editor");

function keysShown() {
  document.getElementById("keys")?.removeAttribute("hidden");
}

function shortcuts(event) {
  const follow = (id) => document.getElementById(id)?.click();
  if ((event.ctrlKey || event.metaKey) && event.key === "Enter") {
    const form = event.target.closest?.("form");
    const button = form?.querySelector("button.primary") ?? form?.querySelector("button:not([type=button])")
      ?? document.querySelector("[data-primary]");
    if (button) { event.preventDefault(); button.click(); }
  } else if (event.altKey && !event.ctrlKey && event.code === "KeyN") {
    event.preventDefault();
    follow("next");
  } else if (event.altKey && !event.ctrlKey && event.code === "KeyH") {
    event.preventDefault();
    location.href = location.pathname + "/history";
  }
}

class Autosave {
  constructor(form) {
    this.form = form;
    this.saved = Number(form.dataset.saved);
    this.state = document.getElementById("save-state");
    this.kept = `casewise:${form.dataset.person}:${location.pathname}`;
    this.sent = JSON.stringify(this.words());
    this.timer = null;
    this.busy = false;
    this.stopped = false;
    this.pause = 1000;
    form.addEventListener("input", () => this.changed());
    form.addEventListener("submit", () => { this.stopped = true; clearTimeout(this.timer); });
    addEventListener("online", () => this.send());
    addEventListener("pagehide", () => this.send({ leaving: true }));
    document.getElementById("take-newer").addEventListener("click", () => this.takeNewer());
    document.getElementById("keep-mine").addEventListener("click", () => this.keepMine());
    this.recover();
  }

  areas() { return [...this.form.querySelectorAll("textarea")]; }
  words() { return Object.fromEntries(this.areas().map((area) => [area.name, area.value])); }
  dirty() { return JSON.stringify(this.words()) !== this.sent; }
  say(text) { this.state.textContent = text; }

  fill(words) {
    for (const area of this.areas()) area.value = words[area.name] ?? "";
  }

  // Words that never reached the server are still in this browser.
  recover() {
    const kept = JSON.parse(localStorage.getItem(this.kept) ?? "null");
    if (!kept) return;
    if (kept.version !== Number(this.form.dataset.version)) { localStorage.removeItem(this.kept); return; }
    if (JSON.stringify(kept.words) === this.sent) { localStorage.removeItem(this.kept); return; }
    this.fill(kept.words);
    this.say("Words that had not reached the server are here again.");
    this.later();
  }

  changed() {
    const kept = { version: Number(this.form.dataset.version), words: this.words() };
    try { localStorage.setItem(this.kept, JSON.stringify(kept)); } catch { /* a full or forbidden store is no loss yet */ }
    this.say("…");
    this.later();
  }

  later(pause = 700) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.send(), pause);
  }

  async send({ leaving = false } = {}) {
    if (this.stopped || this.busy || !this.dirty()) return;
    this.busy = true;
    const words = this.words();
    try {
      const answer = await fetch(this.form.dataset.autosave, {
        method: "POST",
        keepalive: leaving,
        headers: { "Content-Type": "application/json", "Accept": "application/json",
          "X-CSRF-Token": this.form.elements.csrf.value },
        body: JSON.stringify({ fields: words, saved: this.saved, version: Number(this.form.dataset.version) }),
      });
      this.answered(answer.status, await answer.json(), words);
    } catch {
      this.failed("Not saved: no connection. Your words stay in this browser.");
    } finally {
      this.busy = false;
    }
    if (!this.stopped && this.dirty()) this.later(this.pause);
  }

  answered(status, said, words) {
    if (status === 200) {
      this.pause = 1000;
      this.saved = said.saved;
      this.sent = JSON.stringify(words);
      if (!this.dirty()) localStorage.removeItem(this.kept);
      this.say("Saved");
    } else if (status === 409 && said.newer) {
      this.stopped = true;
      this.newer = said.newer;
      this.say("Not saved");
      document.getElementById("conflict").hidden = false;
    } else if (status >= 500) {
      this.failed("Not saved: the server has a problem. Your words stay in this browser.");
    } else {
      this.stopped = true;
      this.say(`Not saved: ${said.problem}`);
    }
  }

  failed(text) {
    this.pause = Math.min(this.pause * 2, 30000);
    this.say(text);
  }

  takeNewer() {
    this.fill(this.newer.fields);
    this.sent = JSON.stringify(this.words());
    localStorage.removeItem(this.kept);
    this.settled("These are the other words.");
  }

  keepMine() {
    this.settled("…");
    this.later(0);
  }

  settled(text) {
    this.saved = this.newer.saved;
    this.stopped = false;
    document.getElementById("conflict").hidden = true;
    this.say(text);
  }
}

document.addEventListener("keydown", shortcuts);
keysShown();
if (editor) new Autosave(editor);
