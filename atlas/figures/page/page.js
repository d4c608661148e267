/**
 * One saved run of the model, looked at without any server: all heads, one head as lines and as a heatmap, the search.
 *
 * The numbers and plotly.js stand in this file as gzip in base64 and are unpacked by the browser. `components` holds the
 * pictures of the application itself (atlas/ui/components), each in a shadow tree of its own. Words may be anything that
 * a user typed: they are written through textContent, or escaped where Plotly would read them as HTML.
 */

const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", $: "&#36;", "\n": "⏎", "\r": "␍", "\t": "⇥" };
const SUMMARIES = ["mean", "max"];
const MOST_LINES = 4096; // of a larger map so many lines are drawn, the strongest
const FEW = 40; // so many tokens a side keep gaps between cells and a label each

const part = (id) => document.getElementById(id);
const plotlyText = (text) => text.replace(/[&<>$\n\r\t]/g, (sign) => ESCAPES[sign]);
const dark = window.matchMedia("(prefers-color-scheme: dark)");

/** The bytes that an element of this page carries as gzip in base64. */
async function unpack(id) {
  const packed = Uint8Array.from(atob(part(id).textContent), (sign) => sign.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

/** Little-endian uint16, 65535 for a weight of 1. */
function weights(buffer) {
  const view = new DataView(buffer);
  return Float32Array.from({ length: buffer.byteLength / 2 }, (_, place) => view.getUint16(2 * place, true) / 65535);
}

function base64(bytes) {
  let text = "";
  for (let start = 0; start < bytes.length; start += 8192) text += String.fromCharCode(...bytes.subarray(start, start + 8192));
  return btoa(text);
}

/** All maps of one kind along one path: tiles (L, H + 2, Q, K), the mean and the maximum over heads at the end. */
class Maps {
  constructor(kind, queries, keys, at) {
    Object.assign(this, { kind, queries, keys });
    [this.layers, this.heads] = [kind.layers, kind.heads];
    this.columns = [...Array.from({ length: this.heads }, (_, head) => String(head + 1)), ...SUMMARIES];
    this.cells = queries.length * keys.length;
    this.tiles = new Float32Array(this.layers * this.columns.length * this.cells);
    for (let layer = 0; layer < this.layers; layer++) {
      const [mean, most] = SUMMARIES.map((_, end) => this.tile(layer, this.heads + end));
      for (let head = 0; head < this.heads; head++) {
        const tile = this.tile(layer, head);
        for (let query = 0, cell = 0; query < queries.length; query++) {
          for (let key = 0; key < keys.length; key++, cell++) {
            tile[cell] = at(layer, head, query, key);
            mean[cell] += tile[cell] / this.heads;
            most[cell] = Math.max(most[cell], tile[cell]);
          }
        }
      }
    }
  }

  tile(layer, column) {
    const start = (layer * this.columns.length + column) * this.cells;
    return this.tiles.subarray(start, start + this.cells);
  }

  name(layer, column) {
    return `layer ${layer + 1} · ${column < this.heads ? `head ${column + 1}` : `${this.columns[column]} over heads`}`;
  }

  peak(layer, column) {
    return this.tile(layer, column).reduce((most, weight) => Math.max(most, weight), 0);
  }

  top(scale, layer, column) {
    if (scale === "fixed") return 1;
    return scale === "head" ? this.peak(layer, column) : this.tiles.reduce((most, weight) => Math.max(most, weight), 0);
  }

  strongest(layer, column) {
    const tile = this.tile(layer, column);
    const place = tile.indexOf(this.peak(layer, column));
    if (place < 0 || !tile[place]) return `${this.name(layer, column)}: empty`;
    const query = this.queries[Math.floor(place / this.keys.length)];
    return `${this.name(layer, column)}: strongest ${query} → ${this.keys[place % this.keys.length]} ${tile[place].toFixed(2)}`;
  }

  /** The payload of the canvas of all heads, as atlas.figures.mosaic.mosaic_payload makes it. */
  overview(scale, chosen, tables) {
    const shades = new Uint8Array(this.tiles.length);
    const every = [...Array(this.layers).keys()].map((layer) => this.columns.map((_, column) => [layer, column]));
    const one = scale === "head" ? null : this.top(scale, 0, 0);
    for (const [layer, column] of every.flat()) {
      const top = (one ?? this.peak(layer, column)) || 1;
      const start = (layer * this.columns.length + column) * this.cells;
      this.tile(layer, column).forEach((weight, cell) => (shades[start + cell] = Math.round((255 * weight) / top)));
    }
    return {
      shades: base64(shades),
      shape: [this.layers, this.columns.length, this.queries.length, this.keys.length],
      columns: this.columns,
      queries: this.queries,
      keys: this.keys,
      tips: every.map((row) => row.map(([layer, column]) => this.strongest(layer, column))),
      chosen,
      label: `all heads of ${this.kind.title}; ${this.kind.scales[scale]}`,
      colour: this.kind.colour,
      tables,
    };
  }
}

/** The trace as this page carries it. */
class Run {
  constructor(data, arrays) {
    this.data = data;
    this.arrays = arrays;
    this.children = data.tree.parent.map(() => []);
    data.tree.parent.forEach((parent, node) => parent >= 0 && this.children[parent].push(node));
  }

  lineage(node) {
    const path = [];
    for (let at = node; at >= 0; at = this.data.tree.parent[at]) path.push(at);
    return path.reverse();
  }

  /** The node at the end of a path of token ids. */
  follow(tokens) {
    return tokens.reduce((at, token) => this.children[at].find((child) => this.data.tree.token[child] === token), 0);
  }

  labels(node) {
    const labels = this.lineage(node).map((member) => this.data.tree.label[member]);
    for (const [place, label] of this.data.relabelled[node] ?? []) labels[place] = label;
    return labels;
  }

  /** The maps of a kind along the path to a node; null where the path has no token, or its rows were not kept. */
  maps(kind, node) {
    const { source, expanded } = this.data;
    const array = this.arrays[kind.name];
    if (kind.name === "encoder") {
      const width = source.length;
      return new Maps(kind, source, source, (l, h, q, k) => array[((l * kind.heads + h) * width + q) * width + k]);
    }
    const rows = this.lineage(node).slice(0, -1).map((member) => expanded[member]);
    if (!rows.length || rows.includes(-1)) return null;
    const labels = this.labels(node);
    const keys = kind.name === "cross" ? source : labels.slice(0, -1);
    const at = (l, h, q, k) => array[((rows[q] * kind.layers + l) * kind.heads + h) * kind.width + k];
    return new Maps(kind, labels.slice(1), keys, at);
  }
}

/** A picture of the application in a shadow tree, with the styles and elements that it expects. */
function mount(name, host) {
  const shadow = part(host).attachShadow({ mode: "open" });
  shadow.append(part(`template-${name}`).content.cloneNode(true));
  return (data, tell) =>
    components[name]({ data, parentElement: shadow, setTriggerValue: tell, setStateValue: tell });
}

class Page {
  constructor(run) {
    this.run = run;
    this.kinds = run.data.kinds;
    this.kind = this.kinds.find((kind) => kind.name === "cross") ?? this.kinds[0];
    this.node = run.data.hypotheses[0] ?? 0;
    this.step = run.data.tree.steps;
    this.chosen = [0, 0];
    this.scale = "head";
    this.threshold = 0.05;
    this.words = [];
    this.overview = mount("mosaic", "overview");
    this.lines = mount("lines", "lines");
    this.tree = mount("search_tree", "tree");
    this.buildControls();
    dark.addEventListener("change", () => this.show());
    this.showTree();
    this.follow(this.node);
  }

  buildControls() {
    for (const kind of this.kinds) this.option("kinds", "kind", kind.title, kind === this.kind, () => this.setKind(kind));
    for (const [scale, title] of [["head", "a scale for each head"], ["shared", "one scale for all"], ["fixed", "from 0 to 1"]]) {
      this.option("scales", "scale", title, scale === this.scale, () => {
        this.scale = scale;
        this.show();
      });
    }
    for (const button of document.querySelectorAll("button[data-hypothesis]")) {
      button.disabled = false;
      button.addEventListener("click", () => {
        this.step = this.run.data.tree.steps;
        this.follow(this.run.data.hypotheses[Number(button.dataset.hypothesis)]);
        this.showTree();
      });
    }
  }

  option(place, group, title, checked, choose) {
    const label = document.createElement("label");
    const input = Object.assign(document.createElement("input"), { type: "radio", name: group, checked });
    input.addEventListener("change", choose);
    label.append(input, title);
    part(place).append(label);
  }

  setKind(kind) {
    this.kind = kind;
    this.words = [];
    this.chosen = [Math.min(this.chosen[0], kind.layers - 1), Math.min(this.chosen[1], kind.heads + 1)];
    this.show();
  }

  /** Look at the path that ends in this node. */
  follow(node) {
    this.node = node;
    this.words = [];
    this.run.data.hypotheses.forEach((end, place) => {
      part(`hypothesis-${place}`).setAttribute("aria-pressed", String(end === node));
    });
    part("path").textContent = this.run.labels(node).slice(1).join(" ") || "the start of the search";
    this.show();
  }

  showTree() {
    this.tree({ tree: this.run.data.tree, node: this.node, step: this.step }, (_, view) => {
      this.step = view.step;
      const node = this.run.follow(view.node);
      if (node !== this.node) this.follow(node);
      this.showTree(); // the tree waits to hear its own message back
    });
  }

  show() {
    const maps = this.kind && this.run.maps(this.kind, this.node);
    part("pictures").hidden = !maps;
    part("nothing").hidden = Boolean(maps);
    if (!maps) {
      part("nothing").textContent = !this.kind
        ? "This model has no attention: the whole sentence reaches its decoder as one vector."
        : this.node
          ? "The attention of this node was not kept in the trace."
          : "Nothing has been generated here yet: choose a node of the tree.";
      return;
    }
    this.maps = maps;
    this.overview(maps.overview(this.scale, this.chosen, this.run.data.tables), (_, chosen) => {
      this.chosen = chosen;
      this.showHead();
    });
    this.showHead();
  }

  showHead() {
    const { maps, kind } = this;
    const [layer, column] = this.chosen;
    const name = maps.name(layer, column);
    part("head").textContent = name;
    const payload = {
      ...strongest(maps.tile(layer, column), this.threshold),
      queries: maps.queries,
      keys: maps.keys,
      empty: [],
      threshold: this.threshold,
      chosen: this.words,
      selectable: true,
      label: `${kind.title}, ${name}: lines from queries (left) to keys (right)`,
      colours: { query: this.run.data.colours.query, key: this.run.data.colours.key, line: kind.colour },
    };
    this.lines(payload, (message, value) => {
      if (message === "threshold") {
        this.threshold = value;
        this.showHead(); // of a large map other lines are sent
      } else {
        const words = new Set(this.words);
        if (!words.delete(value)) words.add(value);
        this.words = [...words];
        this.showHeatmap();
      }
    });
    this.showHeatmap();
  }

  showHeatmap() {
    if (!window.Plotly) return; // still being unpacked
    const figure = heatmap(this.maps, this.chosen, this.scale, this.words, this.run.data);
    const label = `Heatmap of ${this.kind.title}, ${this.maps.name(...this.chosen)}`;
    part("heatmap").setAttribute("aria-label", label);
    const camera = { format: "png", scale: 3, filename: label.replace(/[^\w]+/g, "-").toLowerCase() };
    window.Plotly.react(part("heatmap"), figure.data, figure.layout, {
      responsive: true,
      displaylogo: false,
      modeBarButtons: [["toImage"]],
      toImageButtonOptions: camera,
    });
  }
}

/** Numbers as base64 of four little-endian bytes each. */
function packed(values, set) {
  const view = new DataView(new ArrayBuffer(4 * values.length));
  values.forEach((value, place) => view[set](4 * place, value, true));
  return base64(new Uint8Array(view.buffer));
}

/** The weights that the lines draw, as atlas.figures.lines.lines_payload sends them: of a large map the strongest. */
function strongest(tile, threshold) {
  if (tile.length <= MOST_LINES) return { weights: packed(tile, "setFloat32"), cells: null, left_out: 0 };
  const places = [...tile.keys()].filter((place) => tile[place] > 0 && tile[place] >= threshold);
  const sent = places.sort((one, other) => tile[other] - tile[one]).slice(0, MOST_LINES);
  return {
    weights: packed(sent.map((place) => tile[place]), "setFloat32"),
    cells: packed(sent, "setUint32"),
    left_out: tile.reduce((count, weight) => count + (weight > 0), 0) - sent.length,
  };
}

function axis(labels, more) {
  const every = Math.ceil(labels.length / FEW) || 1;
  const places = [...labels.keys()].filter((place) => place % every === 0);
  return {
    type: "linear",
    tickmode: "array",
    tickvals: places,
    ticktext: places.map((place) => plotlyText(labels[place])),
    range: [-0.5, labels.length - 0.5],
    showgrid: false,
    zeroline: false,
    fixedrange: true,
    automargin: true,
    ...more,
  };
}

/** One head as a Plotly figure: numeric cells, labels as ticks, so that repeated words stay apart. */
function heatmap(maps, [layer, column], scale, words, data) {
  const { queries, keys, kind } = maps;
  const tile = maps.tile(layer, column);
  const rows = queries.map((_, query) => tile.subarray(query * keys.length, (query + 1) * keys.length));
  const look = data.looks[dark.matches ? "dark" : "light"];
  const ranks = rows.map((row) => [...row].map((weight) => 1 + row.reduce((more, other) => more + (other > weight), 0)));
  const pairs = queries.map((query) => keys.map((key) => plotlyText(`${query} → ${key}`)));
  const masked = queries.map((_, query) => keys.map((_, key) => (kind.name === "decoder" && key > query ? 0 : null)));
  const gap = Math.max(queries.length, keys.length) <= FEW ? 1 : 0;
  const shared = { xgap: gap, ygap: gap, hoverongaps: false, text: pairs };
  const traces = [
    {
      type: "heatmap",
      z: rows.map((row) => [...row]),
      customdata: ranks,
      zmin: 0,
      zmax: maps.top(scale, layer, column) || 1,
      colorscale: look.scale,
      colorbar: { thickness: 10, outlinewidth: 0, title: { text: "weight", side: "right" } },
      hovertemplate: `<b>%{text}</b><br>weight %{z:.4f}<br>rank %{customdata} of ${keys.length}<extra></extra>`,
      ...shared,
    },
    {
      type: "heatmap",
      z: masked,
      visible: kind.name === "decoder",
      colorscale: [[0, look.flat], [1, look.flat]],
      showscale: false,
      hovertemplate: "<b>%{text}</b><br>masked: a later token; the weight is exactly 0<extra></extra>",
      ...shared,
    },
  ];
  const slanted = keys.length > 6;
  const font = { color: look.ink, size: 13 };
  const above = Math.min(slanted ? 8 * Math.max(...keys.map((key) => key.length)) + 8 : 18, 220) + 40;
  const layout = {
    height: Math.min(Math.max(24 * queries.length + 24, 160), 800) + above,
    margin: { l: 8, r: 8, t: above, b: 8 },
    font,
    dragmode: false,
    paper_bgcolor: look.background,
    plot_bgcolor: look.background,
    hoverlabel: { bgcolor: look.background, bordercolor: look.ink, font },
    xaxis: axis(keys, {
      side: "top",
      tickangle: slanted ? -60 : 0,
      automargin: false,
      title: { text: "key", font: { color: look.key }, standoff: 4 },
    }),
    yaxis: axis(queries, {
      range: [queries.length - 0.5, -0.5],
      title: { text: plotlyText(kind.rows), font: { color: look.query } },
    }),
    shapes: words.map((row) => ({
      type: "rect",
      x0: -0.5,
      x1: keys.length - 0.5,
      y0: row - 0.5,
      y1: row + 0.5,
      line: { color: data.colours.query },
    })),
  };
  return { data: traces, layout };
}

/** plotly.js from this file, as a script of its own; resolves when it has run. */
async function loadPlotly() {
  window.PlotlyConfig = { MathJaxConfig: "local" };
  const address = URL.createObjectURL(new Blob([await unpack("plotly")], { type: "text/javascript" }));
  await new Promise((loaded, failed) => {
    document.head.append(Object.assign(document.createElement("script"), { src: address, onload: loaded, onerror: failed }));
  });
  URL.revokeObjectURL(address);
}

async function start() {
  const data = JSON.parse(new TextDecoder().decode(await unpack("data")));
  const arrays = {};
  for (const kind of data.kinds) arrays[kind.name] = weights(await unpack(`array-${kind.name}`));
  const page = new Page(new Run(data, arrays));
  part("atlas").hidden = false;
  page.show(); // now that there is a width
  if (!part("plotly")) return;
  await loadPlotly();
  page.showHead();
}

start().catch((error) => {
  part("trouble").hidden = false;
  part("trouble").textContent = `This browser cannot draw the pictures of this page (${error.message ?? "a script did not load"}). Any browser of 2023 or later can.`;
});
