// The architecture as an SVG: boxes that tell their weights when hovered or focused, and lead somewhere when chosen.
// Data: { drawing: what figures.architecture.drawing gives }. Trigger "chosen": the name of a box.

const SVG = "http://www.w3.org/2000/svg";
const views = new WeakMap();

function shape(name, attributes, parent, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}

function element(name, className, text, parent) {
  const made = Object.assign(document.createElement(name), { className, textContent: text });
  parent.append(made);
  return made;
}

class Architecture {
  constructor(root) {
    this.root = root;
    this.svg = root.querySelector("svg");
    this.panel = root.querySelector('[data-part="panel"]');
  }

  update(drawing, send) {
    this.send = send;
    const told = JSON.stringify(drawing);
    if (told === this.told) return;
    this.told = told;
    this.drawing = drawing;
    const held = this.root.getRootNode().activeElement?.dataset?.name;
    this.draw();
    this.rest();
    if (held) this.find(held)?.focus();
  }

  /** The group of a box; a layer that was just opened has none, its first sub-layer takes its place. */
  find(name) {
    const groups = [...this.svg.querySelectorAll(".box")];
    return groups.find((group) => group.dataset.name === name) ?? groups.find((group) => group.dataset.name.startsWith(`${name}.`));
  }

  draw() {
    const { drawing, svg } = this;
    svg.replaceChildren();
    svg.setAttribute("viewBox", `0 0 ${drawing.width} ${drawing.height}`);
    svg.setAttribute("aria-label", drawing.label);
    this.root.style.setProperty("--cross", drawing.colours.cross.fill);
    this.root.style.setProperty("--cross-text", drawing.colours.cross.text);
    for (const frame of drawing.frames) this.frame(frame);
    for (const path of drawing.paths) this.path(path);
    for (const box of drawing.boxes) this.box(box);
    for (const words of drawing.texts) this.words(words);
  }

  colour(group, meaning) {
    group.style.setProperty("--c", this.drawing.colours[meaning].fill);
    group.style.setProperty("--t", this.drawing.colours[meaning].text);
  }

  frame({ x, y, width, height, colour, title, number }) {
    const group = shape("g", { class: "frame" }, this.svg);
    this.colour(group, colour);
    shape("rect", { x, y, width, height, rx: 10 }, group);
    shape("text", { x: x + 12, y: y + 13 }, group, title);
    shape("text", { x: x + width - 12, y: y + 13, "text-anchor": "end" }, group, number);
  }

  path({ kind, points, arrow }) {
    const d = points.map(([x, y], place) => `${place ? "L" : "M"}${x} ${y}`).join("");
    shape("path", { class: kind, d, "stroke-linejoin": "round" }, this.svg);
    if (!arrow) return;
    const [[x0, y0], [x, y]] = points.slice(-2);
    const angle = (Math.atan2(y - y0, x - x0) * 180) / Math.PI;
    const size = kind === "memory" ? "M0 0L-9 -5L-9 5Z" : "M0 0L-6 -3.5L-6 3.5Z";
    shape("path", { class: `tip ${kind === "memory" ? kind : ""}`, d: size, transform: `translate(${x} ${y}) rotate(${angle})` }, this.svg);
  }

  words({ x, y, text, kind, anchor }) {
    const group = shape("g", { class: `words ${kind}` }, this.svg);
    if (kind === "ring") {
      group.setAttribute("class", "ring");
      shape("circle", { cx: x, cy: y, r: 9 }, group);
    }
    shape("text", { x, y, "text-anchor": anchor, class: `words ${kind}` }, group, text);
  }

  box(box) {
    const { x, y, width, height } = box;
    const group = shape("g", { class: `box ${box.note ? "" : "plain"}`, tabindex: 0, "data-name": box.name }, this.svg);
    if (height < 20) group.classList.add("thin");
    group.setAttribute("role", box.layer === null ? "link" : "button");
    group.setAttribute("aria-label", `${box.says}: ${box.count.toLocaleString("en")} parameters. ${box.leads}`);
    this.colour(group, box.colour);
    shape("rect", { x, y, width, height, rx: 6 }, group);
    shape("rect", { x, y, width, height, rx: 6, class: "tint" }, group);
    const line = y + height / 2 - (box.note ? 8 : 0);
    shape("text", { class: "title", x: x + 12, y: line }, group, box.title);
    shape("text", { class: "number", x: x + width - 12, y: line, "text-anchor": "end" }, group, box.number);
    if (box.note) shape("text", { class: "note", x: x + 12, y: line + 17 }, group, box.note);
    for (const event of ["pointerenter", "focus"]) group.addEventListener(event, () => this.tell(box));
    for (const event of ["pointerleave", "blur"]) group.addEventListener(event, () => this.rest());
    group.addEventListener("click", () => this.send("chosen", box.name));
    group.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      this.send("chosen", box.name);
    });
  }

  tell(box) {
    this.panel.replaceChildren();
    this.colour(this.panel, box.colour);
    element("h4", "", box.says, this.panel);
    if (box.flow) element("p", "", box.flow, this.panel);
    if (box.weights.length) {
      const table = element("table", "", "", this.panel);
      const total = ["total", "", box.count.toLocaleString("en")];
      for (const cells of [...box.weights, ...(box.weights.length > 1 ? [total] : [])]) {
        const row = element("tr", "", "", table);
        for (const cell of cells) element("td", "", cell, row);
      }
    } else element("p", "", box.count ? `${box.count.toLocaleString("en")} parameters` : "no parameters", this.panel);
    element("p", "leads", `→ ${box.leads}`, this.panel);
  }

  rest() {
    this.panel.replaceChildren();
    this.panel.style.removeProperty("--c");
    element("h4", "", this.drawing.summary[0], this.panel);
    for (const line of this.drawing.summary.slice(1)) element("p", "", line, this.panel);
    element("p", "small", "Point at a block (or walk with Tab) to see its weights. A click or Enter opens what it does.", this.panel);
  }
}

export default function (component) {
  const { parentElement, data, setTriggerValue } = component;
  const root = parentElement.querySelector(".architecture");
  if (!views.has(root)) views.set(root, new Architecture(root));
  views.get(root).update(data.drawing, setTriggerValue);
}
