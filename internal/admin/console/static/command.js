// The output of one command as it comes, bounded: a page keeps the last lines only, and
// writes at most once for each frame that the browser draws.
import { follow, put } from "./live.js";

const mostLines = 4000;
const mostChars = 1 << 20;
const pieceLines = 200;
const longestLine = 1 << 14;

const out = document.getElementById("output");
const button = document.getElementById("follow");
const open = document.createElement("span");
out.append(open);

let waiting = []; // texts that are not drawn yet
let waitingLines = 0;
let lost = 0;
let openText = "";
let dropped = false;
let chunks = []; // what is drawn: {node, lines, chars}
let lines = 0;
let chars = 0;
let planned = false;
let atEnd = true;

const count = (text) => {
  let n = 0;
  for (let i = text.indexOf("\n"); i >= 0; i = text.indexOf("\n", i + 1)) n++;
  return n;
};

// tail returns the last lines of a text, within the bounds of the page.
function tail(text) {
  let from = Math.max(0, text.length - mostChars);
  let n = 0;
  for (let i = text.length - 2; i > from; i--) {
    if (text.charCodeAt(i) === 10 && ++n === mostLines) {
      from = i + 1;
      break;
    }
  }
  if (from > 0) dropped = true;
  return text.slice(from);
}

function plan() {
  if (planned) return;
  planned = true;
  requestAnimationFrame(() => {
    planned = false;
    draw();
  });
}

function add(text, name) {
  const node = document.createElement("span");
  if (name) node.className = name;
  node.textContent = text;
  open.before(node);
  const c = { node, lines: count(text), chars: text.length };
  chunks.push(c);
  lines += c.lines;
  chars += c.chars;
}

// addAll adds a text in pieces, so that the oldest lines can go without the others.
function addAll(text) {
  let from = 0;
  let n = 0;
  for (let i = text.indexOf("\n"); i >= 0; i = text.indexOf("\n", i + 1)) {
    if (++n === pieceLines || i - from > longestLine) {
      add(text.slice(from, i + 1));
      from = i + 1;
      n = 0;
    }
  }
  if (from < text.length) add(text.slice(from));
}

function draw() {
  if (lost) {
    add(`… ${lost.toLocaleString("en")} bytes are not shown …\n`, "lost");
    lost = 0;
  }
  if (waiting.length) {
    addAll(tail(waiting.join("")));
    waiting = [];
    waitingLines = 0;
  }
  while (chunks.length > 1 && (lines > mostLines || chars > mostChars)) {
    const c = chunks.shift();
    lines -= c.lines;
    chars -= c.chars;
    c.node.remove();
    dropped = true;
  }
  if (open.textContent !== openText) open.textContent = openText;
  document.getElementById("bound").hidden = !dropped;
  if (atEnd) out.scrollTop = out.scrollHeight;
}

function forget() {
  waiting = [];
  waitingLines = lost = lines = chars = 0;
  openText = "";
  chunks = [];
  out.replaceChildren(open);
}

const stop = follow(out.dataset.live, {
  start: forget, // a stream begins anew, with what is kept
  output(o) {
    if (o.screen) {
      openText = o.screen.join("\n");
    } else {
      if (o.lost) {
        if (waiting.length) draw();
        lost += o.lost;
      }
      if (o.text) {
        waiting.push(o.text);
        waitingLines += count(o.text);
        if (waitingLines > 4 * mostLines) { // a page in the background draws no frames
          waiting = [tail(waiting.join(""))];
          waitingLines = count(waiting[0]);
        }
      }
      openText = (o.open ?? "").slice(-longestLine);
    }
    plan();
  },
  part: (p) => put(document.getElementById(p.id), p.html),
  problem: say,
  end(why) {
    stop();
    if (why) say(why);
  },
});

function say(text) {
  const place = document.getElementById("said");
  place.textContent = text;
  place.hidden = false;
}

function followEnd(is) {
  atEnd = is;
  button.setAttribute("aria-pressed", String(is));
  if (is) out.scrollTop = out.scrollHeight;
}

out.addEventListener("scroll", () => {
  const is = out.scrollHeight - out.scrollTop - out.clientHeight < 8;
  if (is !== atEnd) followEnd(is);
});
button.addEventListener("click", () => followEnd(true));
