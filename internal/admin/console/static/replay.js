// The player of a recording. It comes as a plain script, and its terminal is
// WebAssembly, which this page alone allows.
import "./live.js";

const place = document.getElementById("player");
const script = document.createElement("script");
script.src = new URL("asciinema-player.min.js", import.meta.url).href;
script.addEventListener("load", () => {
  globalThis.AsciinemaPlayer.create(place.dataset.cast, place, {
    fit: "width", idleTimeLimit: 2, preload: true, controls: true, terminalFontSize: "small",
    poster: "npt:0:01", theme: "asciinema",
  });
});
script.addEventListener("error", () => { place.closest(".player-card").hidden = true; });
document.head.append(script);
