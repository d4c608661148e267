/**
 * One head as lines between words: queries on the left, keys on the right.
 *
 * Hovering or focusing a word lights its lines and writes its weights beside the words of the other side, in the
 * browser. All words are one stop of the Tab key; arrow keys, Home and End move between them. The slider hides weak
 * lines at once. Words may be anything a user typed: they are written through textContent only.
 *
 * data: the result of atlas.figures.lines.lines_payload. Of a large map only some weights come, and a line says how
 * many stayed behind; a long column of words scrolls in a box of its own.
 * trigger "choose": the row of a query word that was clicked. trigger "threshold": where the slider was let go.
 */

const SVG = "http://www.w3.org/2000/svg";
const FONT = 13;
const NUMBER = 34; // room for a weight beside a word
const SPOKEN = 3; // weights that a screen reader tells of a word

const views = new WeakMap();

export default function render({ data, parentElement, setTriggerValue }) {
  let view = views.get(parentElement);
  if (!view) {
    view = new Lines(parentElement);
    views.set(parentElement, view);
  }
  view.update(data, setTriggerValue);
  return () => {
    view.remove();
    views.delete(parentElement);
  };
}

function element(name, className, parent) {
  const made = document.createElement(name);
  made.className = className;
  parent.append(made);
  return made;
}

function shape(name, attributes, parent) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  parent.append(made);
  return made;
}

/** base64 of little-endian float32 to numbers. */
function floats(base64) {
  const raw = Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0));
  const view = new DataView(raw.buffer);
  return Float32Array.from({ length: raw.length / 4 }, (_, place) => view.getFloat32(4 * place, true));
}

/** All weights in their places; NaN where one was not sent. */
function spread(weights, { cells, queries, keys }) {
  if (!cells) return weights;
  const raw = Uint8Array.from(atob(cells), (sign) => sign.charCodeAt(0));
  const places = new DataView(raw.buffer);
  const all = new Float32Array(queries.length * keys.length).fill(NaN);
  weights.forEach((weight, place) => (all[places.getUint32(4 * place, true)] = weight));
  return all;
}

/** How much larger than on a plain screen everything is drawn: talk mode and visitors set the size of the type. */
function unit() {
  return parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
}

class Lines {
  constructor(parent) {
    this.root = element("div", "lines", parent);
    const bar = element("label", "bar", this.root);
    element("span", "", bar).textContent = "weights from";
    this.slider = element("input", "", bar);
    Object.assign(this.slider, { type: "range", min: "0", max: "1", step: "0.01" });
    this.value = element("output", "", bar);
    this.behind = element("div", "behind", this.root);
    this.box = element("div", "box", this.root);
    this.svg = shape("svg", { role: "group" }, this.box);
    this.pen = document.createElement("canvas").getContext("2d");
    this.at = ["query", 0]; // the word that the Tab key reaches
    this.slider.addEventListener("input", () => this.drawLines());
    this.slider.addEventListener("change", () => this.send("threshold", Number(this.slider.value)));
    this.watcher = new ResizeObserver(() => this.layout());
    this.watcher.observe(this.root);
  }

  update(data, setTriggerValue) {
    const moved = !this.data || this.data.threshold !== data.threshold;
    this.data = data;
    this.send = setTriggerValue;
    this.weights = spread(floats(data.weights), data);
    const left = data.left_out ?? 0;
    this.behind.textContent = left ? `${left.toLocaleString("en")} weaker weights stayed behind` : "";
    this.chosen = new Set(data.chosen);
    if (moved) this.slider.value = String(data.threshold);
    this.svg.setAttribute("aria-label", data.label);
    this.root.style.setProperty("--query", data.colours.query);
    this.width = 0;
    this.layout();
  }

  weight(query, key) {
    return this.weights[query * this.data.keys.length + key];
  }

  /** The longest beginning of a label that fits, with an ellipsis where something was left out. */
  fit(label, room) {
    if (this.pen.measureText(label).width <= room) return label;
    const signs = [...label];
    while (signs.length > 1 && this.pen.measureText(`${signs.join("")}…`).width > room) signs.pop();
    return `${signs.join("")}…`;
  }

  layout() {
    const scale = unit();
    const width = this.box.clientWidth / scale;
    if (!this.data || !width || width === this.width) return;
    this.width = width;
    const { queries, keys, colours } = this.data;
    const rows = Math.max(queries.length, keys.length, 1);
    this.pitch = rows <= 24 ? 24 : rows <= 48 ? 18 : 14;
    const font = Math.min(FONT, this.pitch - 2);
    this.pen.font = `${font}px ${getComputedStyle(this.root).fontFamily}`;
    const widest = (labels) => Math.max(0, ...labels.map((label) => this.pen.measureText(label).width));
    const side = Math.min(Math.max(widest(queries), widest(keys)) + 8, width * 0.33 - NUMBER);
    this.left = side + NUMBER;
    this.right = width - side - NUMBER;
    const height = rows * this.pitch + 4;
    const held = this.svg.contains(this.root.getRootNode().activeElement);
    this.svg.replaceChildren();
    const size = { width: width * scale, height: height * scale, viewBox: `0 0 ${width} ${height}` };
    for (const [name, value] of Object.entries(size)) {
      this.svg.setAttribute(name, value);
    }
    this.lines = shape("g", { class: "strokes", stroke: colours.line }, this.svg);
    this.words = {
      query: queries.map((label, row) => this.word("query", label, row, side, font)),
      key: keys.map((label, row) => this.word("key", label, row, side, font)),
    };
    this.reach(...this.at, held);
    this.drawLines();
  }

  word(side, label, row, room, font) {
    const query = side === "query";
    const group = shape("g", { class: `word ${side}`, tabindex: "-1", "data-row": row }, this.svg);
    const top = row * this.pitch;
    shape("rect", { class: "hit", x: query ? 0 : this.right, y: top, width: room + NUMBER, height: this.pitch }, group);
    const edge = query ? this.left - 4 : this.right;
    shape("rect", { x: edge, y: top + 3, width: 4, height: this.pitch - 6, fill: this.data.colours[side] }, group);
    const text = shape("text", { class: "label", y: top + this.pitch / 2, "font-size": font }, group);
    text.setAttribute("x", query ? this.left - 10 : this.right + 10);
    text.setAttribute("text-anchor", query ? "end" : "start");
    text.textContent = this.fit(label, room - 4);
    const number = shape("text", { class: "number", y: top + this.pitch / 2, "font-size": font - 2 }, group);
    number.setAttribute("x", query ? 2 : this.width - 2);
    number.setAttribute("text-anchor", query ? "start" : "end");
    const empty = query && this.data.empty.includes(row);
    shape("title", {}, group).textContent = empty ? `${label}: empty, all its weight was on hidden tokens` : label;
    group.setAttribute("aria-label", `${side} ${label}`);
    group.addEventListener("keydown", (event) => this.key(event, side, row));
    group.addEventListener("focus", () => this.reach(side, row, false));
    for (const event of ["pointerenter", "focus"]) group.addEventListener(event, () => this.light(side, row));
    for (const event of ["pointerleave", "blur"]) group.addEventListener(event, () => this.rest());
    if (query && this.data.selectable) {
      group.classList.add("selectable");
      group.setAttribute("role", "button");
      group.setAttribute("aria-pressed", String(this.chosen.has(row)));
      group.addEventListener("click", () => this.choose(row));
      group.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        this.choose(row);
      });
    } else {
      group.setAttribute("role", "img");
    }
    return group;
  }

  /** The largest weights of a word, in words. */
  told(side, row) {
    const query = side === "query";
    const others = query ? this.data.keys : this.data.queries;
    const weights = others.map((label, other) => [query ? this.weight(row, other) : this.weight(other, row), label]);
    const sent = weights.filter(([weight]) => weight > 0);
    const most = sent.sort((one, other) => other[0] - one[0]).slice(0, SPOKEN);
    const list = most.map(([weight, label]) => `${label} ${weight.toFixed(2)}`).join(", ");
    return `${query ? "Most weight on" : "Most weight from"}: ${list}`;
  }

  key(event, side, row) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const moves = {
      ArrowUp: [side, row - 1],
      ArrowDown: [side, row + 1],
      ArrowLeft: ["query", row],
      ArrowRight: ["key", row],
      Home: [side, 0],
      End: [side, this.words[side].length - 1],
    };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    event.stopPropagation();
    this.reach(...move, true);
  }

  /** Make a word the one that the Tab key reaches, and give it the focus if asked. */
  reach(side, row, focus) {
    const words = this.words[side];
    if (!words.length) return;
    this.at = [side, Math.min(Math.max(row, 0), words.length - 1)];
    this.stop?.setAttribute("tabindex", "-1");
    const word = words[this.at[1]];
    this.stop = word;
    word.setAttribute("tabindex", "0");
    word.setAttribute("aria-description", this.told(...this.at));
    if (focus) word.focus({ preventScroll: true });
  }

  drawLines() {
    const least = Number(this.slider.value);
    this.value.textContent = least.toFixed(2);
    this.lines.replaceChildren();
    this.strokes = [];
    const middle = (row) => (row + 0.5) * this.pitch;
    for (let query = 0; query < this.data.queries.length; query++) {
      for (let key = 0; key < this.data.keys.length; key++) {
        const weight = this.weight(query, key);
        if (!(weight > 0 && weight >= least)) continue; // NaN: this weight was not sent
        const line = shape("line", { x1: this.left, y1: middle(query), x2: this.right, y2: middle(key) }, this.lines);
        line.setAttribute("stroke-opacity", (0.12 + 0.88 * weight).toFixed(3));
        line.setAttribute("stroke-width", (0.75 + 3.25 * weight).toFixed(2));
        this.strokes.push({ line, query, key });
      }
    }
    this.rest();
  }

  /** Light the lines that `test` accepts and dim the others. */
  show(test) {
    this.svg.classList.add("choice");
    for (const { line, query, key } of this.strokes) line.classList.toggle("lit", test(query, key));
  }

  light(side, row) {
    this.show((query, key) => (side === "query" ? query : key) === row);
    this.numbers(side === "query" ? "key" : "query", (other) => (side === "query" ? this.weight(row, other) : this.weight(other, row)));
    this.numbers(side, () => null);
  }

  /** Nothing is hovered: the chosen words stay lit, or all lines show when none is chosen. */
  rest() {
    if (this.chosen.size) this.show((query) => this.chosen.has(query));
    else {
      this.svg.classList.remove("choice");
      for (const { line } of this.strokes) line.classList.remove("lit");
    }
    for (const side of ["query", "key"]) this.numbers(side, () => null);
  }

  numbers(side, weight) {
    this.words[side].forEach((group, row) => {
      const value = weight(row);
      group.querySelector(".number").textContent = value === null || Number.isNaN(value) ? "" : value.toFixed(2);
    });
  }

  choose(row) {
    if (!this.chosen.delete(row)) this.chosen.add(row);
    this.words.query[row].setAttribute("aria-pressed", String(this.chosen.has(row)));
    this.send("choose", row);
  }

  remove() {
    this.watcher.disconnect();
    this.root.remove();
  }
}
