// The tree of a search as SVG: where every node stands, what exists after a step, what is under the pointer.
// It draws and knows nothing of time or of Python; search_tree.js does. Text comes from users and models: it is only
// ever assigned as text content.

const SVG = "http://www.w3.org/2000/svg";
const MARGIN = { left: 22, right: 52, top: 34, bottom: 30 };
const READABLE_PITCH = 66; // pixels a column when zoomed in
const REACH = 16; // pixels from the pointer to the node it means
const LETTER = 7; // mean width of a letter in pixels

function make(name, attributes, parent) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (parent) parent.appendChild(element);
  return element;
}

/** How much larger than on a plain screen everything is drawn: talk mode and visitors set the size of the type. */
function unit() {
  return parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
}

class TreePicture {
  constructor(root) {
    this.root = root;
    for (const part of ["back", "count", "next", "slider", "play", "zoom", "caption", "leader", "stage", "tip", "spoken", "legend"]) {
      this[part] = root.querySelector(`[data-part="${part}"]`);
    }
    this.svg = root.querySelector("svg");
    this.zoomed = false;
    this.observer = new ResizeObserver(() => this.tree && this.place());
    this.observer.observe(this.stage);
  }

  build() {
    const { tree, svg } = this;
    svg.replaceChildren();
    this.hovered = -1;
    this.tip.hidden = true;
    svg.setAttribute("aria-label", `${tree.summary} Arrow keys walk over the nodes, Enter chooses one.`);
    tree.fates.forEach((name) => this.root.style.setProperty(`--${name}`, tree.colours[name]));
    this.band = make("rect", { class: "band" }, svg);
    this.camera = make("g", { class: "camera" }, svg);
    const layers = ["axis", "edges", "best", "chosen", "nodes", "names"].map((name) => make("g", { class: name }, this.camera));
    [this.axis, , , this.chosen] = layers;
    const best = new Set(tree.best);
    this.columns = Array.from({ length: tree.steps + 1 }, () => []);
    this.faded = new Uint8Array(tree.column.length);
    this.parts = tree.column.map((column, node) => {
      this.columns[column].push(node);
      const fate = tree.fates[tree.fate[node]];
      const winner = best.has(node);
      const part = { winner };
      if (node > 0) part.edge = make("path", { class: winner ? "edge winner" : `edge ${fate}` }, layers[winner ? 2 : 1]);
      part.dot = make(fate === "cut" ? "rect" : "circle", { class: `node ${fate}`, "data-node": node }, layers[4]);
      if (winner || fate !== "pruned") {
        part.name = make("text", { class: winner ? "name winner" : "name" }, layers[5]);
        part.name.textContent = tree.label[node];
      }
      return part;
    });
    this.children = tree.parent.map(() => []);
    tree.parent.forEach((parent, node) => parent >= 0 && this.children[parent].push(node));
    this.ring = make("circle", { class: "ring" }, this.camera);
    this.cursor = make("circle", { class: "cursor" }, this.camera);
    this.legend.replaceChildren(
      ...tree.fates.map((name) => {
        const item = document.createElement("span");
        const swatch = document.createElement("i");
        swatch.className = name;
        item.append(swatch, tree.meanings[name]);
        return item;
      }),
      Object.assign(document.createElement("span"), { textContent: "thick line: best hypothesis · size: probability of the token" }),
    );
    this.slider.max = tree.steps;
    this.shown = -1;
    this.place();
  }

  x(node) {
    return MARGIN.left + this.tree.column[node] * this.pitch;
  }

  y(node) {
    return this.rowAt[this.tree.row[node]];
  }

  r(node) {
    return this.tree.radius[node] * this.scale;
  }

  place() {
    const { tree } = this;
    this.unit = unit();
    const width = this.stage.clientWidth / this.unit;
    if (!width) return;
    const fit = (width - MARGIN.left - MARGIN.right) / Math.max(tree.steps, 1);
    this.zoom.hidden = fit >= READABLE_PITCH;
    this.zoom.textContent = this.zoomed ? "Whole tree" : "Zoom in";
    this.zoom.setAttribute("aria-pressed", String(this.zoomed));
    this.pitch = this.zoomed ? Math.max(fit, READABLE_PITCH) : Math.min(fit, 110);
    const longest = Math.max(...tree.best.map((node) => tree.label[node].length)) * LETTER;
    this.slanted = longest > this.pitch - 4;
    this.top = this.slanted ? Math.max(MARGIN.top, Math.min(130, 24 + 0.67 * longest)) : MARGIN.top;
    this.placeRows();
    this.width = width;
    this.scale = Math.min(1, (0.44 * this.pitch) / Math.max(...tree.radius));
    this.height = this.rowAt[tree.rows - 1] + MARGIN.bottom + 14;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${this.height}`);
    this.svg.style.height = `${this.height * this.unit}px`;
    const room = Math.floor((this.pitch - 6) / (LETTER - 1));
    this.parts.forEach((part, node) => this.placeNode(part, node, room));
    this.placeAxis();
    this.mark(this.node);
    this.show(this.step, true);
  }

  // Rows that only ever held pruned candidates carry no names and stand closer.
  placeRows() {
    const { tree } = this;
    const named = new Uint8Array(tree.rows);
    this.parts.forEach((part, node) => part.name && (named[tree.row[node]] = 1));
    const tall = Math.max(32, Math.min(40, 240 / named.reduce((sum, one) => sum + one, 0)));
    let y = this.top;
    this.rowAt = Array.from(named, (one, row) => (row ? (y += one ? tall : 20) : y));
  }

  placeNode(part, node, room) {
    const { tree } = this;
    const [x, y, radius] = [this.x(node), this.y(node), this.r(node)];
    if (part.edge) {
      const [px, py] = [this.x(tree.parent[node]), this.y(tree.parent[node])];
      const middle = (px + x) / 2;
      part.edge.setAttribute("d", `M${px} ${py}C${middle} ${py} ${middle} ${y} ${x} ${y}`);
    }
    if (part.dot.tagName === "rect") {
      for (const [key, value] of Object.entries({ x: x - radius, y: y - radius, width: 2 * radius, height: 2 * radius }))
        part.dot.setAttribute(key, value);
    } else {
      for (const [key, value] of Object.entries({ cx: x, cy: y, r: radius })) part.dot.setAttribute(key, value);
    }
    if (!part.name) return;
    const above = y - radius - 4;
    const slanted = part.winner && this.slanted;
    const fits = part.winner || tree.label[node].length <= room;
    part.name.style.display = fits ? "" : "none";
    part.name.setAttribute("text-anchor", slanted ? "start" : "middle");
    part.name.setAttribute("transform", slanted ? `translate(${x + 2} ${above})rotate(-42)` : `translate(${x} ${above})`);
  }

  placeAxis() {
    const every = Math.ceil(18 / this.pitch);
    const y = this.height - 8;
    this.axis.replaceChildren();
    for (let step = 0; step <= this.tree.steps; step += every) {
      const tick = make("text", { class: "tick", x: MARGIN.left + step * this.pitch, y, "text-anchor": "middle" }, this.axis);
      tick.textContent = step;
    }
  }

  show(step, all = false) {
    const { tree } = this;
    const last = all || this.shown < 0 ? -1 : this.shown;
    this.shown = this.step = step;
    for (let column = 0; column <= tree.steps; column++) {
      if (last >= 0 && column <= Math.min(last, step)) continue;
      if (last >= 0 && column > Math.max(last, step)) break;
      for (const node of this.columns[column]) {
        const { dot, edge, name } = this.parts[node];
        for (const element of [dot, edge, name]) element?.classList.toggle("later", column > step);
      }
    }
    for (let node = 0; node < tree.column.length; node++) {
      const faded = tree.alive[node] < step ? 1 : 0;
      if (faded === this.faded[node]) continue;
      this.faded[node] = faded;
      const { dot, edge, name } = this.parts[node];
      for (const element of [dot, edge, name]) element?.classList.toggle("gone", faded === 1);
    }
    this.markLater();
    const total = MARGIN.left + tree.steps * this.pitch + MARGIN.right;
    const place = MARGIN.left + step * this.pitch;
    this.offset = Math.max(0, Math.min(place - 0.72 * this.width, total - this.width));
    this.camera.style.transform = `translateX(${-this.offset}px)`;
    const band = { x: place - this.offset - this.pitch / 2, y: 0, width: this.pitch, height: this.height };
    for (const [key, value] of Object.entries(band)) this.band.setAttribute(key, value);
    this.slider.value = step;
    this.slider.setAttribute("aria-valuetext", `step ${step} of ${tree.steps}`);
    this.count.textContent = `step ${step} of ${tree.steps}`;
    this.caption.textContent = tree.captions[step];
    this.leader.textContent = tree.leaders[step];
    this.back.disabled = step === 0;
    this.next.disabled = step === tree.steps;
    this.root.dataset.step = step;
  }

  mark(node) {
    this.node = node;
    const lineage = [];
    for (let member = node; member > 0; member = this.tree.parent[member]) lineage.push(member);
    this.chosen.replaceChildren(
      ...lineage.map((member) => make("path", { d: this.parts[member].edge.getAttribute("d"), class: "edge", "data-node": member })),
    );
    for (const [key, value] of Object.entries({ cx: this.x(node), cy: this.y(node), r: this.r(node) + 5 }))
      this.ring.setAttribute(key, value);
    this.markLater();
  }

  // What is chosen may lie beyond the step that is shown.
  markLater() {
    const beyond = (node) => this.tree.column[node] > this.step;
    for (const edge of this.chosen.children) edge.classList.toggle("later", beyond(edge.dataset.node));
    this.ring.classList.toggle("later", beyond(this.node));
  }

  nearest(event) {
    const box = this.svg.getBoundingClientRect();
    const x = (event.clientX - box.left) / this.unit + this.offset;
    const y = (event.clientY - box.top) / this.unit;
    const column = Math.round((x - MARGIN.left) / this.pitch);
    let found = -1;
    let distance = REACH;
    for (let near = Math.max(0, column - 1); near <= Math.min(this.step, column + 1); near++) {
      for (const node of this.columns[near]) {
        const away = Math.hypot(this.x(node) - x, this.y(node) - y);
        if (away < distance) [found, distance] = [node, away];
      }
    }
    return found;
  }

  hover(node) {
    this.svg.style.cursor = node >= 0 ? "pointer" : "";
    this.cursor.style.display = node >= 0 ? "" : "none";
    this.tip.hidden = node < 0;
    this.parts[this.hovered]?.dot.classList.remove("under");
    this.parts[node]?.dot.classList.add("under");
    this.hovered = node;
    if (node < 0) return;
    const [x, y] = [this.x(node), this.y(node)];
    for (const [key, value] of Object.entries({ cx: x, cy: y, r: this.r(node) + 3 })) this.cursor.setAttribute(key, value);
    if (this.tip.dataset.node !== String(node)) {
      this.tip.dataset.node = node;
      this.tip.replaceChildren(
        ...this.tree.hover[node].split("\n").map((line, place) =>
          Object.assign(document.createElement(place ? "div" : "strong"), { textContent: line }),
        ),
      );
    }
    const left = x - this.offset;
    const flip = left > this.width / 2;
    this.tip.style.left = flip ? "" : `${(left + 14) * this.unit}px`;
    this.tip.style.right = flip ? `${(this.width - left + 14) * this.unit}px` : "";
    const room = this.height * this.unit - this.tip.offsetHeight;
    this.tip.style.top = `${Math.max(0, Math.min((y + 10) * this.unit, room))}px`;
  }
}
