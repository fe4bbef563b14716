// What runs, as it changes: the server sends the parts that have, and the order of the
// groups.
import { follow, put } from "./live.js";

const groups = document.getElementById("groups");

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
