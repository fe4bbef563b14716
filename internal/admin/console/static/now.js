// What runs, as it changes: the server sends the parts that have, and the order of the
// groups.
import { follow, put } from "./live.js";

const groups = document.getElementById("groups");

// fill asks for the idle sessions of a group whose list a person has opened, if it has
// not the present ones yet.
async function fill(details) {
  const { idle, sum } = details.dataset;
  if (!details.open || details.shown === sum) return;
  details.shown = sum;
  try {
    const answer = await fetch(idle, { headers: { "Tipstaff-Part": "1" } });
    if (!answer.ok) throw new Error(answer.statusText);
    put(details.querySelector("[data-own]"), await answer.text());
  } catch {
    details.shown = null; // the link to them stands there
  }
}

groups.addEventListener("toggle", (e) => { if (e.target.matches("details.idle")) fill(e.target); }, true);

follow(document.getElementById("now-top").dataset.live, {
  now({ order, parts }) {
    for (const p of parts ?? []) {
      let place = document.getElementById(p.id);
      if (!place) {
        place = document.createElement("section");
        place.className = "card group";
        place.id = p.id;
        groups.append(place);
      }
      put(place, p.html);
    }
    for (const g of groups.children) {
      const head = g.querySelector("h2");
      g.setAttribute("aria-label", head?.textContent.trim().replace(/\s+/g, " ") ?? "");
      g.classList.toggle("card-frozen", head?.querySelector(".mark-frozen") != null);
    }
    for (const d of groups.querySelectorAll("details.idle[open]")) fill(d);
    const wanted = new Set(order ?? []);
    for (const g of [...groups.children]) if (!wanted.has(g.id)) g.remove();
    let at = groups.firstElementChild;
    for (const id of order ?? []) {
      const g = document.getElementById(id);
      if (g === at) at = at.nextElementSibling;
      else groups.insertBefore(g, at);
    }
  },
});
