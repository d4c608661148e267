/**
 * All heads as switches: one grid a kind, a row a layer, a button a head, and before each row one for the whole layer.
 *
 * Each grid is one stop of the Tab key; arrow keys, Home and End move inside it; Space and Enter switch. The elements
 * are kept between calls so that focus survives. All text is written through textContent.
 *
 * data: the result of atlas.ui.what_if.switches.payload. trigger "switch": [kind, layer, head or null].
 */

const views = new WeakMap();

export default function render({ data, parentElement, setTriggerValue }) {
  let view = views.get(parentElement);
  if (!view) {
    view = new Switches(parentElement);
    views.set(parentElement, view);
  }
  view.update(data, setTriggerValue);
  return () => {
    view.root.remove();
    views.delete(parentElement);
  };
}

function element(name, className, parent) {
  const made = document.createElement(name);
  made.className = className;
  parent.append(made);
  return made;
}

class Switches {
  constructor(parent) {
    this.root = element("div", "switches", parent);
    this.root.addEventListener("click", (event) => this.click(event));
    this.root.addEventListener("keydown", (event) => this.key(event));
    this.root.addEventListener("focusin", (event) => this.focus(event));
  }

  update(data, setTriggerValue) {
    this.send = setTriggerValue;
    const shape = JSON.stringify(data.grids.map((grid) => [grid.kind, grid.rows.length, grid.rows[0]?.length]));
    if (shape !== this.shape) {
      this.shape = shape;
      this.build(data);
    }
    data.grids.forEach((grid, place) => {
      grid.rows.forEach((row, layer) => {
        const buttons = this.rows[place][layer];
        const all = `${grid.label}, layer ${layer + 1}: all heads`;
        buttons[0].setAttribute("aria-label", all);
        buttons[0].title = all;
        row.forEach(([mode, sign, title], head) => {
          const button = buttons[head + 1];
          const name = `${grid.label}, layer ${layer + 1}, head ${head + 1}: ${title}`;
          button.dataset.mode = mode;
          button.textContent = sign;
          button.title = name;
          button.setAttribute("aria-label", name);
        });
      });
    });
  }

  build(data) {
    this.root.replaceChildren();
    this.rows = data.grids.map((grid, place) => {
      const box = element("div", "kind", this.root);
      box.style.setProperty("--kind", grid.colour);
      const title = element("div", "title", box);
      title.textContent = grid.label;
      title.id = `switches-${grid.kind}`;
      const board = element("div", "board", box);
      board.setAttribute("role", "grid");
      board.setAttribute("aria-labelledby", title.id);
      return grid.rows.map((row, layer) => {
        const line = element("div", "line", board);
        line.setAttribute("role", "row");
        return [null, ...row].map((_, column) => {
          const cell = element("div", column ? "cell" : "layer", line);
          cell.setAttribute("role", column ? "gridcell" : "rowheader");
          const button = element("button", "", cell);
          button.type = "button";
          button.tabIndex = layer === 0 && column === 1 ? 0 : -1;
          button.dataset.at = JSON.stringify([place, layer, column]);
          button.dataset.kind = grid.kind;
          if (!column) button.textContent = `L${layer + 1}`;
          return button;
        });
      });
    });
  }

  click(event) {
    const button = event.target.closest("button");
    if (!button) return;
    const [, layer, column] = JSON.parse(button.dataset.at);
    this.send("switch", [button.dataset.kind, layer, column ? column - 1 : null]);
  }

  focus(event) {
    const button = event.target.closest("button");
    if (!button) return;
    const [place] = JSON.parse(button.dataset.at);
    for (const other of this.rows[place].flat()) other.tabIndex = other === button ? 0 : -1;
  }

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const button = event.target.closest("button");
    if (!button) return;
    const [place, layer, column] = JSON.parse(button.dataset.at);
    const moves = {
      ArrowLeft: [layer, column - 1],
      ArrowRight: [layer, column + 1],
      ArrowUp: [layer - 1, column],
      ArrowDown: [layer + 1, column],
      Home: [layer, 0],
      End: [layer, this.rows[place][layer].length - 1],
    };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    event.stopPropagation();
    this.rows[place][move[0]]?.[move[1]]?.focus();
  }
}
