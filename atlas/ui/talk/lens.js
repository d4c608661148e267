/**
 * What is under the pointer, large enough for the back of a hall. Nothing is asked of the server.
 *
 * A picture tells the window what it is pointed at, with an event "atlas:point" that nobody hears outside of talk mode:
 * { x, y: of the pointer; lines: of text; picture: { canvas, left, top, width, height } in pixels of the canvas;
 *   cells: { rows, columns, row, column } }, or null when the pointer has left. Text is written through textContent.
 */

const SIDE = 0.34; // of the shorter side of the window
const AWAY = 28; // pixels between the pointer and the lens

class Lens {
  constructor(root) {
    this.box = root;
    this.canvas = root.querySelector("canvas");
    this.text = root.querySelector('[data-part="words"]');
    this.onPoint = (event) => this.show(event.detail);
    this.onScroll = () => this.show(null);
    window.addEventListener("atlas:point", this.onPoint);
    window.addEventListener("scroll", this.onScroll, true);
  }

  show(point) {
    this.box.hidden = !this.on || !point;
    if (this.box.hidden) return;
    this.text.replaceChildren(
      ...point.lines.map((line) => Object.assign(document.createElement("div"), { textContent: line })),
    );
    this.canvas.hidden = !point.picture;
    if (point.picture) this.draw(point.picture, point.cells);
    const { offsetWidth: width, offsetHeight: height } = this.box;
    const left = point.x + AWAY + width > innerWidth ? point.x - AWAY - width : point.x + AWAY;
    const top = Math.min(point.y + AWAY, innerHeight - height - 8);
    this.box.style.left = `${Math.max(8, left)}px`;
    this.box.style.top = `${Math.max(8, top)}px`;
  }

  draw({ canvas, left, top, width, height }, cells) {
    const most = SIDE * Math.min(innerWidth, innerHeight) * devicePixelRatio;
    const scale = most / Math.max(width, height);
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(height * scale);
    this.canvas.style.width = `${this.canvas.width / devicePixelRatio}px`;
    const pen = this.canvas.getContext("2d");
    pen.imageSmoothingEnabled = false;
    pen.drawImage(canvas, left, top, width, height, 0, 0, this.canvas.width, this.canvas.height);
    const [wide, high] = [this.canvas.width / cells.columns, this.canvas.height / cells.rows];
    pen.strokeStyle = getComputedStyle(this.box).getPropertyValue("--st-primary-color");
    pen.lineWidth = 3 * devicePixelRatio;
    pen.strokeRect(cells.column * wide, cells.row * high, wide, high);
  }

  remove() {
    window.removeEventListener("atlas:point", this.onPoint);
    window.removeEventListener("scroll", this.onScroll, true);
  }
}
