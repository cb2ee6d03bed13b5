// What htmx doesn't do: a hidden page has no stream, a form that is being filled in isn't replaced,
// and what a person has opened stays open.
"use strict";

const main = () => document.getElementById("main");
const live = text => { document.getElementById("live").textContent = text; };

// over says why the page is no longer live, until it is again. A server that ends says so itself; of
// one that was killed, or is out of reach, nothing is heard.
const over = text => {
  const p = document.getElementById("over");
  p.textContent = text;
  p.hidden = !text;
};
let silent = 0;
const connected = () => {
  clearTimeout(silent);
  silent = 0;
  over("");
  live("live");
};
const ended = e => {
  over(e.data);
  live("not live");
};
const disconnected = () => {
  if (!document.getElementById("over").hidden) return;
  live("reconnecting…");
  silent ||= setTimeout(() => {
    over("gl web doesn't answer. If it has ended, run gl web in the project's directory: this page then continues by itself.");
    live("not live");
  }, 20000);
};

// A Stream is an EventSource that closes while the page is hidden: a browser has six connections to a
// host. When it opens again, it says which version the page has, so the page catches up.
class Stream extends EventTarget {
  constructor(url) {
    super();
    this.url = new URL(url, location.href);
    this.types = new Set();
    this.ended = false;
    this.relay = e => {
      if (e.lastEventId) this.url.searchParams.set("at", e.lastEventId);
      this.dispatchEvent(new MessageEvent(e.type, { data: e.data, lastEventId: e.lastEventId }));
    };
    Stream.all.add(this);
    if (!document.hidden) this.open();
  }
  open() {
    if (this.ended || this.real) return;
    const real = this.real = new EventSource(this.url);
    for (const type of this.types) real.addEventListener(type, this.relay);
    real.addEventListener("ended", ended);
    real.onopen = e => { connected(); this.onopen?.(e); };
    real.onerror = e => { disconnected(); this.onerror?.(e); };
  }
  pause() {
    this.real?.close();
    this.real = null;
  }
  addEventListener(type, f) {
    super.addEventListener(type, f);
    if (!this.types.has(type)) {
      this.types.add(type);
      this.real?.addEventListener(type, this.relay);
    }
  }
  get readyState() { return this.real ? this.real.readyState : EventSource.CONNECTING; }
  close() {
    this.ended = true;
    this.pause();
    Stream.all.delete(this);
  }
}
Stream.all = new Set();
htmx.createEventSource = url => new Stream(url);
document.addEventListener("visibilitychange", () => {
  for (const s of Stream.all) document.hidden ? s.pause() : s.open();
});

// busy tells whether a person is writing something on the page.
function busy() {
  const at = document.activeElement;
  if (at && at.closest("#main form") && at.matches("textarea, input, button")) return true;
  return [...document.querySelectorAll("#main textarea, #main input[type=text]")].some(e => e.value);
}

// #main itself stays: news that come while it is loaded wait there, and would be lost with it.
document.addEventListener("htmx:beforeSwap", e => {
  if (e.detail.target !== main()) return;
  if (e.detail.xhr.status >= 400 || busy()) {
    e.detail.shouldSwap = false;
    document.getElementById("news").hidden = false;
    return;
  }
  const opened = {};
  for (const d of document.querySelectorAll("#main details[id]")) opened[d.id] = d.open;
  document.addEventListener("htmx:afterSwap", () => {
    for (const d of document.querySelectorAll("#main details[id]")) if (d.id in opened) d.open = opened[d.id];
  }, { once: true });
});

// A line's number opens a field for a comment below the line, which belongs to the form that sends the
// slice back. Where the form is on another page, the number is a link to it.
document.addEventListener("click", e => {
  const n = e.target.closest(".diff a.n");
  if (!n || e.ctrlKey || e.metaKey) return;
  const url = new URL(n.href), form = url.hash.slice(1); // the form's own id is hidden by its field id
  if (!document.getElementById(form)) return;
  e.preventDefault();
  const line = n.parentElement, old = line.nextElementSibling;
  if (old?.matches(".comment")) {
    old.querySelector("textarea").focus();
    return;
  }
  const at = url.searchParams.get("at"), box = document.createElement("div");
  const label = box.appendChild(document.createElement("label"));
  label.append("Comment on " + at);
  const text = label.appendChild(document.createElement("textarea"));
  const place = box.appendChild(document.createElement("input"));
  box.className = "comment";
  place.type = "hidden";
  [place.name, place.value, text.name, text.rows] = ["at", at, "comment", 2];
  for (const e of [place, text]) e.setAttribute("form", form);
  line.after(box);
  text.focus();
});

// The end of a log stays in sight while a person is at it, and a page that is open all night stays small.
const mostLines = 3000;
document.addEventListener("htmx:sseBeforeMessage", () => {
  const log = document.getElementById("log"), box = log?.parentElement;
  while (log?.childElementCount > mostLines) log.firstElementChild.remove();
  if (box && box.scrollHeight - box.scrollTop - box.clientHeight < 40) {
    requestAnimationFrame(() => { box.scrollTop = box.scrollHeight; });
  }
});
document.addEventListener("DOMContentLoaded", () => {
  localStorage.setItem("gl-base", main().dataset.base);
  const box = document.getElementById("log")?.parentElement;
  if (box) box.scrollTop = box.scrollHeight;
});
