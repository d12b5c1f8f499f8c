// Shows one cluster of a fleet. The fragment of the address has the choice, so that a link keeps it:
// report.html#cluster=prod-7, or report.html#cluster=prod-7&at=blast for a section.
(function () {
  const select = document.getElementById("cluster");
  if (!select || !canUnpack) return;
  const root = document.documentElement;
  const search = document.getElementById("cluster-search");
  const count = document.getElementById("cluster-count");
  const section = document.getElementById("chosen");
  const maps = document.querySelector(".maps");
  const options = [...select.options];
  const names = options.slice(1).map((option) => option.value);
  const fleetMaps = maps ? [...maps.children] : [];
  let current = "";

  function fragment(name, at) {
    if (!name) return at || "";
    return new URLSearchParams(at ? { cluster: name, at } : { cluster: name }).toString();
  }

  function find() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = options.filter(
      (option, index) => !index || words.every((word) => option.text.toLowerCase().includes(word)),
    );
    select.replaceChildren(...found);
    select.value = found.includes(options[names.indexOf(current) + 1]) ? current : "";
    count.textContent = words.length ? `${found.length - 1} of ${names.length}` : "";
    return found.slice(1).map((option) => option.value);
  }

  function show(name, clusters) {
    const part = name ? { name, ...clusters[name] } : null;
    current = name;
    search.value = "";
    find();
    select.value = name;
    root.classList.toggle("chosen", Boolean(name));
    section.hidden = !name;
    if (part) {
      section.querySelector("h2").textContent = `Cluster ${name}`;
      section.querySelector("dl").replaceChildren(...elements(part.facts));
      const own = [...document.querySelectorAll("#first .first > li")].filter(
        (action) => action.dataset.cluster === name,
      );
      section.querySelector("ol").replaceChildren(...own.map((action) => action.cloneNode(true)));
      section.querySelector("h3").hidden = !own.length;
    }
    if (maps) maps.replaceChildren(...(part ? elements(part.maps) : fleetMaps));
    dispatchEvent(new CustomEvent("choose", { detail: part }));
  }

  packed.then(({ clusters }) => {
    document.querySelector(".choice").hidden = false;

    function read() {
      const given = new URLSearchParams(location.hash.slice(1));
      const name = given.get("cluster") ?? "";
      const isKnown = names.includes(name);
      if (name && !isKnown) count.textContent = `no cluster ${name} in this report`;
      if ((isKnown ? name : "") !== current) show(isKnown ? name : "", clusters);
      const at = given.get("at");
      if (at) document.getElementById(at)?.scrollIntoView();
      else if (isKnown) section.scrollIntoView({ block: "nearest" });
    }

    function choose(name) {
      location.hash = fragment(name, "") || "choice";
    }

    select.addEventListener("change", () => choose(select.value));
    search.addEventListener("input", find);
    search.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      const found = find();
      const exact = found.find((name) => name.toLowerCase() === search.value.trim().toLowerCase());
      if (exact || found.length === 1) choose(exact ?? found[0]);
      else select.focus();
    });
    section.querySelector("a").addEventListener("click", (event) => {
      event.preventDefault();
      choose("");
    });
    document.querySelector("nav").addEventListener("click", (event) => {
      const at = event.target.getAttribute("href");
      if (!at || !current) return;
      event.preventDefault();
      const next = fragment(current, at.slice(1));
      if (location.hash.slice(1) === next) document.getElementById(at.slice(1)).scrollIntoView();
      else location.hash = next;
    });
    addEventListener("hashchange", read);
    read();
  });
})();
