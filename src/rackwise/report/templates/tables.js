// Sorts and filters the tables. A table keeps all of its rows and shows the first that match; it
// shows more of them when somebody scrolls to the end.
(function () {
  const STEP = 200;
  const FILTERED_FROM = 11;
  const names = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
  const NOTHING = new Set(["", "-", "not known"]);
  const PLAIN = /^-?[\d,]+(\.\d+)?$/;
  const counted = new Intl.NumberFormat("en");

  // The exact order of two decimal numbers that are equal as floating-point numbers.
  function exact(a, b) {
    const digits = Math.max(...[a, b].map((text) => (text.split(".")[1] || "").length));
    const [x, y] = [a, b].map((text) => {
      const [whole, part = ""] = text.split(".");
      return BigInt(whole + part.padEnd(digits, "0"));
    });
    return x < y ? -1 : x > y ? 1 : 0;
  }

  // The number of a cell as text; null where no number is known.
  function number(cell) {
    if (cell.dataset.v !== undefined) return cell.dataset.v;
    const text = cell.textContent.trim();
    return PLAIN.test(text) ? text.replaceAll(",", "") : null;
  }

  function compareNumbers(a, b) {
    const order = Number(a) - Number(b);
    return order || a === b || /e/i.test(a + b) ? order : exact(a, b);
  }

  class DataTable {
    constructor(table, packedRows) {
      this.table = table;
      this.body = table.tBodies[0];
      this.heads = [...table.tHead.rows[0].cells];
      this.clusterColumn = this.heads.findIndex((head) => head.dataset.key === "cluster");
      this.fleet = [...this.body.rows, ...elements(packedRows || "", "table")];
      this.more = table.parentElement.nextElementSibling;
      if (this.more && !this.more.matches(".more")) this.more = null;
      this.missing = Number(table.dataset.all) - this.fleet.length;
      this.words = [];
      this.cluster = null;
      this.column = null;
      this.direction = 0;
      this.take(this.fleet);
      this.heads.forEach((head, column) => this.addButton(head, column));
      if (this.fleet.length >= FILTERED_FROM) this.addFilter();
      const box = table.parentElement;
      box.addEventListener("scroll", () => {
        if (box.scrollTop + box.clientHeight > box.scrollHeight - 400) this.grow();
      });
      this.show();
    }

    take(rows) {
      this.rows = rows.map((row) => ({ row, keys: [], text: null, cluster: null }));
    }

    addButton(head, column) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => this.sortBy(column));
    }

    addFilter() {
      const bar = document.createElement("div");
      bar.className = "filter";
      this.input = document.createElement("input");
      this.input.type = "search";
      this.input.placeholder = "Filter rows";
      this.input.autocomplete = "off";
      this.input.spellcheck = false;
      this.input.setAttribute("aria-label", `Filter ${this.table.caption.textContent}`);
      this.input.setAttribute("aria-controls", this.table.id);
      this.status = document.createElement("output");
      this.input.addEventListener("input", () => {
        this.words = this.input.value.toLowerCase().split(/\s+/).filter(Boolean);
        this.show();
      });
      bar.append(this.input, this.status);
      this.table.parentElement.before(bar);
    }

    isNumeric(column) {
      return this.heads[column].matches(".n, .s");
    }

    // A column of numbers starts with the largest, a column of names with the first; the third
    // click restores the order of the page.
    sortBy(column) {
      const first = this.isNumeric(column) ? -1 : 1;
      if (this.column !== column) [this.column, this.direction] = [column, first];
      else if (this.direction === first) this.direction = -first;
      else [this.column, this.direction] = [null, 0];
      this.heads.forEach((head, index) => {
        const order = index === this.column ? this.direction : 0;
        head.setAttribute("aria-sort", ["descending", "none", "ascending"][order + 1]);
      });
      this.show();
    }

    key(item, column) {
      if (!(column in item.keys)) {
        const cell = item.row.cells[column];
        const text = cell.textContent.trim();
        const name = NOTHING.has(text) ? null : text;
        item.keys[column] = this.isNumeric(column) ? number(cell) : name;
      }
      return item.keys[column];
    }

    // What is not known is last in both directions.
    sorted(items) {
      if (this.column === null) return items;
      const compare = this.isNumeric(this.column) ? compareNumbers : names.compare;
      return [...items].sort((a, b) => {
        const [x, y] = [this.key(a, this.column), this.key(b, this.column)];
        if (x === null || y === null) return (x === null) - (y === null);
        return this.direction * compare(x, y);
      });
    }

    isOfCluster(item) {
      if (this.cluster === null || this.clusterColumn < 0) return true;
      item.cluster ??= item.row.cells[this.clusterColumn].textContent.trim();
      return item.cluster === this.cluster;
    }

    hasWords(item) {
      if (!this.words.length) return true;
      item.text ??= [...item.row.cells].map((cell) => cell.textContent.trim()).join(" ").toLowerCase();
      return this.words.every((word) => item.text.includes(word));
    }

    show() {
      const whole = this.rows.filter((item) => this.isOfCluster(item));
      this.found = this.sorted(whole.filter((item) => this.hasWords(item)));
      this.shown = Math.min(STEP, this.found.length);
      this.body.replaceChildren(...this.found.slice(0, this.shown).map((item) => item.row));
      this.table.parentElement.scrollTop = 0;
      if (this.status) {
        this.status.textContent = this.words.length
          ? `${counted.format(this.found.length)} of ${counted.format(whole.length)}`
          : `${counted.format(whole.length)} row${whole.length === 1 ? "" : "s"}`;
      }
      this.note(whole.length);
    }

    grow() {
      const next = this.found.slice(this.shown, this.shown + STEP);
      this.shown += next.length;
      this.body.append(...next.map((item) => item.row));
    }

    // Which rows the page lacks, and the file with all rows.
    note(count) {
      if (!this.more) return;
      const words = this.more.querySelector("span");
      const isOne = this.cluster !== null && this.clusterColumn >= 0;
      this.more.hidden = false;
      if (this.missing > 0 && isOne) {
        words.textContent = count ? "More rows of this cluster may be in" : "Any rows of this cluster are in";
      } else if (this.missing > 0) {
        words.textContent = `${counted.format(this.missing)} more row${this.missing === 1 ? "" : "s"} in`;
      } else words.textContent = "All rows:";
    }

    // Show the rows of one cluster; `rows`: rows that take the place of those of the fleet.
    choose(cluster, rows) {
      this.cluster = cluster;
      if (rows !== undefined || this.isReplaced) {
        this.isReplaced = rows !== undefined;
        this.take(rows === undefined ? this.fleet : elements(rows, "table"));
      }
      this.show();
    }
  }

  let tables = [];
  let chosen = null;

  function choose() {
    for (const table of tables) table.choose(chosen?.name ?? null, chosen?.tables[table.table.id]);
  }

  addEventListener("choose", (event) => {
    chosen = event.detail;
    choose();
  });
  packed.then(({ rows }) => {
    tables = [...document.querySelectorAll("table.data")].map(
      (table) => new DataTable(table, rows[table.id]),
    );
    if (chosen) choose();
    document.documentElement.classList.add("sortable");
  });
})();
