// Questions as they come, and their keys. A key acts on the question that is selected.
// A new question is never selected by itself, so that a key meant for one question
// cannot answer another that came in its place.
import { Steady } from "./answering.js";
import { follow, put } from "./live.js";

const place = document.getElementById("questions");
const all = () => [...place.querySelectorAll("[data-question]")];
const open = () => all().filter((q) => !q.hasAttribute("data-gone"));
const selected = () => place.querySelector("[data-selected]");

function select(question) {
  selected()?.removeAttribute("data-selected");
  if (!question) return;
  question.setAttribute("data-selected", "");
}

function move(by) {
  const list = open();
  const at = list.indexOf(selected());
  const next = list[at < 0 ? (by > 0 ? 0 : list.length - 1) : Math.min(list.length - 1, Math.max(0, at + by))];
  if (!next) return;
  select(next);
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

select(open()[0]);
place.addEventListener("focusin", (e) => {
  const q = e.target.closest("[data-question]");
  if (q) select(q);
});

document.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.altKey || e.metaKey || e.repeat) return;
  if (e.target.matches?.("input, textarea, select")) {
    if (e.key === "Escape") e.target.blur();
    return;
  }
  if (e.key === "j" || e.key === "k") return move(e.key === "j" ? 1 : -1);
  const button = selected()?.querySelector(`[data-key="${CSS.escape(e.key)}"]`);
  if (!button) return;
  e.preventDefault();
  if (e.key === "d") button.focus();
  else button.form.requestSubmit(button);
});

let saying = 0;
const steady = new Steady(place, "[data-question]", (text) => {
  document.getElementById("held").textContent = text;
  clearTimeout(saying);
  saying = setTimeout(() => { document.getElementById("held").textContent = ""; }, 4000);
});

// keep leaves every question as it was drawn first, and one that is gone in its place
// while the pointer is over the questions.
function keep(content) {
  const fresh = new Map([...content.querySelectorAll("[data-question]")].map((q) => [q.id, q]));
  let last = null; // the one before it
  for (const old of all()) {
    const now = fresh.get(old.id);
    if (!now && !steady.leave(old)) continue;
    if (!now) old.querySelector(".tag").textContent = "gone: answered, taken back or expired";
    const same = old.cloneNode(true);
    if (now) now.replaceWith(same);
    else if (last) last.after(same);
    else if (fresh.size) content.querySelector("[data-question]").before(same);
    else (content.querySelector(".empty") ?? content.firstChild).before(same);
    last = same;
  }
}

let known = new Set(open().map((q) => q.id));

// tell says to readers of screens, and in the title, that questions have come or gone.
function tell() {
  const now = open();
  const fresh = now.filter((q) => !known.has(q.id));
  if (fresh.length || now.length !== known.size) {
    document.getElementById("said").textContent = fresh.length ? fresh[0].querySelector("h2").textContent : `${now.length} waiting`;
  }
  known = new Set(now.map((q) => q.id));
  document.title = (now.length ? `(${now.length}) ` : "") + "Approvals · tipstaff";
}

follow(place.dataset.live, {
  part(p) {
    put(document.getElementById(p.id), p.html, keep);
    tell();
  },
});
