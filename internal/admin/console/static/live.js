// What makes a page live: one stream of events while the page can be seen, ages that
// count on, and parts that change without taking the focus or the place of a person.

const second = 1000;

// follow opens the stream at path while the page is visible; each event goes to the
// function of its name. It returns a function that ends it for good.
export function follow(path, on) {
  let source = null;
  let over = false;
  const open = () => {
    if (over || source || document.hidden) return;
    source = new EventSource(path);
    source.addEventListener("open", () => connected(true));
    source.addEventListener("error", () => {
      const refused = source.readyState === EventSource.CLOSED;
      connected(false, refused);
      if (refused) { // and not tried again by itself
        source = null;
        if (!over) setTimeout(open, 2 * second);
      }
    });
    for (const [name, run] of Object.entries(on)) {
      source.addEventListener(name, (e) => run(JSON.parse(e.data)));
    }
  };
  const close = () => {
    source?.close();
    source = null;
  };
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  addEventListener("pagehide", close);
  addEventListener("pageshow", (e) => { if (e.persisted) open(); }); // back from where browsers keep pages
  requestAnimationFrame(() => setTimeout(open)); // what the page has is painted first; a hidden page opens when it is seen
  return () => { over = true; close(); };
}

let since = null;

// connected says on the page when what it shows is not of now.
function connected(is, refused) {
  const place = document.getElementById("connection");
  if (!place) return;
  if (is) {
    since = null;
    place.hidden = true;
    document.body.removeAttribute("data-stale");
    return;
  }
  since ??= new Date();
  document.body.setAttribute("data-stale", "");
  place.className = "banner banner-bad";
  place.setAttribute("role", "alert");
  const text = refused
    ? `This page does not go on: what is shown is of ${since.toLocaleTimeString()}. A few pages of a browser are live at once: close others of the console, and this one goes on by itself. If none is open, load it again.`
    : `No connection to the console: what is shown is of ${since.toLocaleTimeString()}. It is tried again. If the console has ended, start it again and open its new address.`;
  if (place.textContent !== text) place.textContent = text;
  place.hidden = false;
}

// put makes an element hold html, and changes only what differs: what has the focus,
// is selected or open stays as it is. html comes from the console's own templates; with
// before, what it makes of them first.
export function put(element, html, before) {
  const box = document.createElement("template");
  box.innerHTML = html;
  before?.(box.content);
  sync(element, box.content);
  due ||= requestAnimationFrame(() => { due = 0; tick(); }); // once for all parts of an event
}

let due = 0;

function sync(old, fresh) {
  const known = new Map();
  for (const n of old.childNodes) if (n.id) known.set(n.id, n);
  let at = old.firstChild;
  for (const want of [...fresh.childNodes]) {
    const same = want.id ? known.get(want.id) : at && !at.id && alike(at, want) ? at : null;
    if (!same) {
      old.insertBefore(want, at);
      continue;
    }
    if (same !== at) old.insertBefore(same, at);
    else at = at.nextSibling;
    update(same, want);
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

const alike = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName;

function update(old, want) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== want.nodeValue) old.nodeValue = want.nodeValue;
    return;
  }
  for (const { name } of [...old.attributes]) {
    if (!want.hasAttribute(name) && !own(old, name)) old.removeAttribute(name);
  }
  for (const { name, value } of want.attributes) {
    if (old.getAttribute(name) !== value && !own(old, name)) old.setAttribute(name, value);
  }
  if (old.nodeName === "INPUT" || old.nodeName === "TEXTAREA" || old.hasAttribute("data-own")) return; // the page's own
  if (old.isEqualNode(want)) return;
  sync(old, want);
}

// own reports whether an attribute is the person's, and not the template's.
const own = (e, name) => name === "data-selected" || (name === "open" && e.nodeName === "DETAILS");

function words(ms) {
  const s = Math.max(0, Math.floor(ms / second));
  const two = (n) => String(n).padStart(2, "0");
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${two(s % 60)} s`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${two(Math.floor(s / 60) % 60)} min`;
  return `${Math.floor(s / 86400)} d ${Math.floor(s / 3600) % 24} h`;
}

// tick counts ages on.
function tick() {
  const now = Date.now();
  for (const t of document.querySelectorAll("time[data-age], time[data-left]")) {
    const at = Date.parse(t.getAttribute("datetime"));
    const text = words(t.hasAttribute("data-age") ? now - at : at - now);
    if (t.textContent !== text) t.textContent = text;
  }
}

setInterval(() => { if (!document.hidden) tick(); }, second);
for (const e of document.querySelectorAll("[data-live-only]")) e.hidden = false;
