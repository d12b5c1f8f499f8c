
// Draws the charts: those of the fleet, or of the chosen cluster.
(function () {
  const PRINTED_WIDTH = 640;
  const root = document.documentElement;
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const plotly = document.getElementById("plotly");
  let chosen = null;

  // The policy has the hash of the unpacked text, so the browser runs it.
  async function load() {
    const script = document.createElement("script");
    script.id = plotly.dataset.id;
    script.textContent = await unpacked(plotly);
    plotly.replaceWith(script);
  }

  // Replaces values such as "var(--ink)" of colour keys by the colour of the current scheme.
  function painted(value, key, style) {
    if (typeof value === "string") {
      const name = /color$/i.test(key) && /^var\((--[a-z]+)\)$/.exec(value);
      return name ? style.getPropertyValue(name[1]).trim() : value;
    }
    if (Array.isArray(value)) return value.map((item) => painted(item, key, style));
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, painted(v, k, style)]));
  }

  // Adds the title and the description of the page to each drawing, for screen readers.
  function named(place) {
    const words = {
      title: place.closest("figure").querySelector("figcaption").textContent,
      desc: place.getAttribute("aria-label"),
    };
    place.querySelectorAll("svg.main-svg").forEach((svg, index) => {
      if (svg.querySelector(":scope > g.words")) return;
      const group = document.createElementNS(svg.namespaceURI, "g");
      group.setAttribute("class", "words");
      const ids = Object.entries(words).map(([tag, text]) => {
        const element = document.createElementNS(svg.namespaceURI, tag);
        element.id = `${place.id}-${tag}-${index}`;
        element.textContent = text;
        group.append(element);
        return element.id;
      });
      svg.prepend(group);
      svg.setAttribute("aria-labelledby", ids.join(" "));
    });
  }

  function draw(width) {
    const style = getComputedStyle(root);
    const canHover = matchMedia("(hover: hover)").matches;
    for (const [id, all] of Object.entries(figures)) {
      const place = document.getElementById(id);
      const isOfFleet = !chosen || place.closest(".of-fleet");
      const figure = isOfFleet ? all : chosen.figures[id];
      place.closest("figure").hidden = !figure;
      if (!figure) continue;
      const layout = painted(figure.layout, "", style);
      if (width) layout.width = width;
      if (!canHover) layout.dragmode = false;
      Plotly.react(place, painted(figure.data, "", style), layout, {
        displayModeBar: false,
        responsive: true,
        showTips: false,
      }).then(() => named(place));
    }
  }

  function begin() {
    root.classList.add("drawn");
    draw();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw());
    addEventListener("beforeprint", () => {
      root.classList.add("print");
      draw(PRINTED_WIDTH);
    });
    addEventListener("afterprint", () => {
      root.classList.remove("print");
      draw();
    });
  }

  addEventListener("choose", (event) => {
    chosen = event.detail;
    if (root.classList.contains("drawn")) draw();
  });
  if (canUnpack) load().then(begin);
})();
