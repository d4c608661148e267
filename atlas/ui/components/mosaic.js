/**
 * All heads of one kind on a canvas: layers down, heads across, the mean and the maximum at the end.
 *
 * Streamlit calls the default export on mount and again whenever data or theme change; the elements are kept between
 * calls so that focus survives. Over the canvas lies one transparent option a tile: it takes clicks, carries the text
 * for screen readers and is what arrow keys move between. All text is written through textContent.
 *
 * data: the result of atlas.figures.mosaic.mosaic_payload.
 * trigger "choose": [layer, column], both from 0, only after a click or a key.
 */

const GUTTER = { left: 52, top: 22 }; // in sixteenths of the size of the type, as HIGHEST
const GAP = 4;
const BEFORE_SUMMARIES = 10;
const SETTLE_MS = 120; // held arrow keys move the frame at once and tell Python when they rest
const HIGHEST = 560;

const views = new WeakMap();

export default function render({ data, parentElement, setTriggerValue }) {
  let view = views.get(parentElement);
  if (!view) {
    view = new Mosaic(parentElement);
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

function bytes(base64) {
  return Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0));
}

/** Whether the page is dark: the luminance of the background that Streamlit names. */
function isDark(root) {
  const probe = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  probe.fillStyle = getComputedStyle(root).getPropertyValue("--st-background-color").trim() || "#ffffff";
  probe.fillRect(0, 0, 1, 1);
  const [red, green, blue] = probe.getImageData(0, 0, 1, 1).data;
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 128;
}

/** How much larger than on a plain screen everything is drawn: talk mode and visitors set the size of the type. */
function unit() {
  return parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
}

class Mosaic {
  constructor(parent) {
    this.root = element("div", "mosaic", parent);
    this.board = element("div", "board", this.root);
    this.board.tabIndex = 0;
    this.board.setAttribute("role", "listbox");
    this.board.dataset.pageKeys = "free";
    this.canvas = element("canvas", "", this.board);
    this.canvas.setAttribute("aria-hidden", "true");
    this.names = element("div", "names", this.board);
    this.names.setAttribute("aria-hidden", "true");
    this.options = element("div", "options", this.board);
    this.options.setAttribute("role", "presentation");
    this.tip = element("div", "tip", this.root);
    this.tip.setAttribute("aria-live", "polite");
    this.chosen = [0, 0];
    this.timer = null;
    this.scratch = document.createElement("canvas");
    this.board.addEventListener("keydown", (event) => this.key(event));
    this.watcher = new ResizeObserver(() => this.layout());
    this.watcher.observe(this.root);
  }

  update(data, setTriggerValue) {
    this.data = data;
    this.send = setTriggerValue;
    this.shades = bytes(data.shades);
    this.tables = { light: bytes(data.tables.light), dark: bytes(data.tables.dark) };
    this.board.setAttribute("aria-label", `${data.label}. Arrow keys choose a head.`);
    this.root.style.setProperty("--kind", data.colour);
    if (this.timer === null) this.chosen = data.chosen;
    this.build();
    this.layout();
    this.mark();
  }

  /** One option a tile and one name a row and column; made anew only when their number changed. */
  build() {
    const [layers, columns] = this.data.shape;
    if (this.options.childElementCount !== layers * columns) {
      this.options.replaceChildren();
      for (let layer = 0; layer < layers; layer++) {
        for (let column = 0; column < columns; column++) {
          const option = element("div", "option", this.options);
          option.id = `tile-${layer}-${column}`;
          option.setAttribute("role", "option");
          option.addEventListener("click", () => this.choose(layer, column, 0));
          option.addEventListener("pointerenter", () => this.say(layer, column));
          option.addEventListener("pointerleave", () => {
            this.say(...this.chosen);
            this.point(null);
          });
          option.addEventListener("pointermove", (event) => this.point(this.under(event, layer, column)));
        }
      }
    }
    [...this.options.children].forEach((option, place) => {
      option.setAttribute("aria-label", this.data.tips[Math.floor(place / columns)][place % columns]);
    });
    const names = [...this.data.columns, ...Array.from({ length: layers }, (_, layer) => `layer ${layer + 1}`)];
    this.names.replaceChildren();
    for (const name of names) element("span", "name", this.names).textContent = name;
  }

  /** Place everything for the width there is, then draw. */
  layout() {
    if (!this.data || !this.root.clientWidth) return;
    const [layers, columns, queries, keys] = this.data.shape;
    const scale = unit();
    const gutter = { left: GUTTER.left * scale, top: GUTTER.top * scale };
    const free = this.root.clientWidth - gutter.left - BEFORE_SUMMARIES - GAP * columns;
    const width = Math.max(8, Math.floor(free / columns));
    const shape = Math.min(Math.max(queries / Math.max(keys, 1), 0.5), 1.25);
    const height = Math.max(8, Math.floor(Math.min(width * shape, (HIGHEST * scale) / layers - GAP)));
    this.place = (layer, column) => ({
      left: gutter.left + column * (width + GAP) + (column >= columns - 2 ? BEFORE_SUMMARIES : 0),
      top: gutter.top + layer * (height + GAP),
      width,
      height,
    });
    const full = { width: this.root.clientWidth, height: gutter.top + layers * (height + GAP) };
    this.board.style.height = `${full.height}px`;
    [...this.options.children].forEach((option, place) => {
      const box = this.place(Math.floor(place / columns), place % columns);
      for (const side of ["left", "top", "width", "height"]) option.style[side] = `${box[side]}px`;
    });
    [...this.names.children].forEach((name, place) => {
      const across = place < columns;
      const box = this.place(across ? 0 : place - columns, across ? place : 0);
      name.style.left = across ? `${box.left}px` : "0px";
      name.style.top = across ? "0px" : `${box.top}px`;
      name.style.width = across ? `${width}px` : `${gutter.left - 8}px`;
      name.style.lineHeight = across ? `${gutter.top}px` : `${height}px`;
      name.style.textAlign = across ? "center" : "right";
    });
    this.draw(full);
  }

  draw(full) {
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(full.width * ratio);
    this.canvas.height = Math.round(full.height * ratio);
    this.canvas.style.width = `${full.width}px`;
    this.canvas.style.height = `${full.height}px`;
    const [layers, columns, queries, keys] = this.data.shape;
    if (!queries || !keys) return;
    const context = this.canvas.getContext("2d");
    const table = this.tables[isDark(this.root) ? "dark" : "light"];
    this.scratch.width = keys;
    this.scratch.height = queries;
    const pen = this.scratch.getContext("2d", { willReadFrequently: true });
    const image = pen.createImageData(keys, queries);
    for (let layer = 0; layer < layers; layer++) {
      for (let column = 0; column < columns; column++) {
        const start = (layer * columns + column) * queries * keys;
        for (let cell = 0; cell < queries * keys; cell++) {
          const entry = 3 * this.shades[start + cell];
          image.data[4 * cell] = table[entry];
          image.data[4 * cell + 1] = table[entry + 1];
          image.data[4 * cell + 2] = table[entry + 2];
          image.data[4 * cell + 3] = 255;
        }
        pen.putImageData(image, 0, 0);
        const box = this.place(layer, column);
        context.imageSmoothingEnabled = keys > box.width * ratio || queries > box.height * ratio;
        context.drawImage(this.scratch, box.left * ratio, box.top * ratio, box.width * ratio, box.height * ratio);
      }
    }
  }

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const [layers, columns] = this.data.shape;
    const [layer, column] = this.chosen;
    const moves = {
      ArrowLeft: [layer, column - 1],
      ArrowRight: [layer, column + 1],
      ArrowUp: [layer - 1, column],
      ArrowDown: [layer + 1, column],
      Home: [layer, 0],
      End: [layer, columns - 1],
    };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    event.stopPropagation();
    const inside = (value, count) => Math.min(Math.max(value, 0), count - 1);
    this.choose(inside(move[0], layers), inside(move[1], columns), SETTLE_MS);
  }

  choose(layer, column, wait) {
    if (this.chosen[0] === layer && this.chosen[1] === column && this.timer === null) return;
    this.chosen = [layer, column];
    this.mark();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.timer = null;
      this.send("choose", this.chosen);
    }, wait);
  }

  mark() {
    const [, columns] = this.data.shape;
    const place = this.chosen[0] * columns + this.chosen[1];
    [...this.options.children].forEach((option, index) => {
      option.setAttribute("aria-selected", String(index === place));
    });
    this.board.setAttribute("aria-activedescendant", `tile-${this.chosen[0]}-${this.chosen[1]}`);
    this.say(...this.chosen);
  }

  /** Tell whoever listens (the lens of talk mode) what the pointer is on; null when it has left. */
  point(detail) {
    this.root.dispatchEvent(new CustomEvent("atlas:point", { bubbles: true, composed: true, detail }));
  }

  /** The token of a row or column of squares, or the first and the last of the tokens that share it. */
  named(side, place) {
    const size = this.data.blocks?.[side === "queries" ? 0 : 1] ?? 1;
    const labels = this.data[side].slice(place * size, (place + 1) * size);
    return labels.length > 1 ? `${labels[0]} … ${labels.at(-1)}` : labels[0];
  }

  /** The cell of a tile under the pointer, in words and as a part of the canvas. */
  under(event, layer, column) {
    const [, , queries, keys] = this.data.shape;
    const ratio = window.devicePixelRatio || 1;
    const box = this.place(layer, column);
    const frame = event.currentTarget.getBoundingClientRect();
    const cell = (at, count) => Math.min(Math.max(Math.floor(at * count), 0), count - 1);
    const row = cell((event.clientY - frame.top) / frame.height, queries);
    const key = cell((event.clientX - frame.left) / frame.width, keys);
    const [left, top, width, height] = [box.left, box.top, box.width, box.height].map((side) => side * ratio);
    return {
      x: event.clientX,
      y: event.clientY,
      lines: [`${this.named("queries", row)} → ${this.named("keys", key)}`, this.data.tips[layer][column]],
      picture: { canvas: this.canvas, left, top, width, height },
      cells: { rows: queries, columns: keys, row, column: key },
    };
  }

  say(layer, column) {
    this.tip.textContent = this.data.tips[layer]?.[column] ?? "";
  }

  remove() {
    clearTimeout(this.timer);
    this.watcher.disconnect();
    this.root.remove();
  }
}
