// Replay, keyboard and choice of a node in the picture of a search (search_tree_picture.js, loaded before this file),
// all in the browser; Python gets one message for each thing that the visitor did.
// Data: { tree: what figures.tree_payload gives, node: chosen node id, step: steps shown }.
// Message "view": { node: token ids from the first generated token to the chosen node, step }.

const SEND_AFTER = 350; // milliseconds without a further step before Python is told

class TreeView extends TreePicture {
  constructor(root) {
    super(root);
    this.pending = []; // what Python was told and has not echoed
    this.back.addEventListener("click", () => this.stepBy(-1));
    this.next.addEventListener("click", () => this.stepBy(1));
    this.slider.addEventListener("input", () => this.goTo(Number(this.slider.value)));
    this.play.addEventListener("click", () => (this.timer ? this.pause() : this.start()));
    this.zoom.addEventListener("click", () => {
      this.zoomed = !this.zoomed;
      this.place();
    });
    this.svg.addEventListener("pointermove", (event) => this.hover(this.nearest(event), event));
    this.svg.addEventListener("pointerleave", () => this.hover(-1));
    this.svg.addEventListener("click", (event) => this.choose(this.nearest(event)));
    this.svg.addEventListener("keydown", (event) => this.key(event));
    this.svg.addEventListener("blur", () => this.hover(-1));
    this.onKey = (event) => this.walk(event);
    window.addEventListener("keydown", this.onKey);
    this.onLeaving = () => clearTimeout(this.sending);
    window.addEventListener("atlas:leaving", this.onLeaving);
  }

  /** A key on the page outside the picture: a step; at either end it keeps its ordinary meaning. */
  walk(event) {
    const move = event.shiftKey || !this.tree ? 0 : walkOf(event, this.slider);
    const own = event.composedPath()[0] === this.slider;
    if (!move || (own && event.key.startsWith("Arrow"))) return;
    if (this.step + move < 0 || this.step + move > this.tree.steps) return;
    event.preventDefault();
    this.stepBy(move);
  }

  destroy() {
    window.removeEventListener("keydown", this.onKey);
    window.removeEventListener("atlas:leaving", this.onLeaving);
    clearInterval(this.timer);
    clearTimeout(this.sending);
    this.observer.disconnect();
  }

  update(data, send) {
    this.send = send;
    const fresh = !this.tree || this.tree.identity !== data.tree.identity;
    if (fresh) {
      this.stop();
      clearTimeout(this.sending);
      this.pending = [];
      this.told = { node: data.node, step: data.step };
      this.tree = data.tree;
      this.node = data.node;
      this.step = data.step;
      this.build();
      return;
    }
    const heard = (view) => view.node === data.node && view.step === data.step;
    if (heard(this.told)) return;
    this.told = { node: data.node, step: data.step };
    const echo = this.pending.findIndex(heard);
    if (echo >= 0) {
      this.pending.splice(0, echo + 1); // the visitor may have moved on since
      return;
    }
    this.pending = []; // Python decided: a hypothesis was picked, another page was visited
    this.stop();
    this.goTo(data.step, false);
    this.mark(data.node);
  }

  goTo(step, tell = true) {
    this.show(Math.max(0, Math.min(this.tree.steps, step)));
    if (tell && !this.timer) this.tellSoon();
  }

  stepBy(change) {
    this.pause();
    this.goTo(this.step + change);
  }

  start() {
    if (this.step === this.tree.steps) this.show(0);
    this.play.textContent = "❚❚ Pause";
    const beat = Math.max(150, Math.min(650, 12000 / this.tree.steps));
    this.timer = setInterval(() => {
      this.goTo(this.step + 1);
      if (this.step === this.tree.steps) this.pause();
    }, beat);
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    this.play.textContent = "▶ Play";
  }

  pause() {
    if (!this.timer) return;
    this.stop();
    this.tellSoon();
  }

  choose(node) {
    if (node < 0) return;
    this.pause();
    this.mark(node);
    this.tell();
  }

  key(event) {
    const at = this.hovered >= 0 ? this.hovered : this.node;
    const column = this.columns[this.tree.column[at]];
    const byRank = [...column].sort((a, b) => this.tree.row[a] - this.tree.row[b]);
    const place = byRank.indexOf(at);
    const next = {
      ArrowLeft: this.tree.parent[at],
      ArrowRight: [...this.children[at]].sort((a, b) => this.tree.row[a] - this.tree.row[b])[0],
      ArrowUp: byRank[place - 1],
      ArrowDown: byRank[place + 1],
    };
    if (event.key === "Enter" || event.key === " ") this.choose(at);
    else if (!(event.key in next)) return;
    else if (next[event.key] >= 0) {
      if (this.tree.column[next[event.key]] > this.step) this.goTo(this.step + 1);
      this.hover(next[event.key]);
      this.spoken.textContent = this.tree.hover[this.hovered]; // a screen reader follows the keys, not the pointer
    }
    event.preventDefault();
    event.stopPropagation();
  }

  tellSoon() {
    clearTimeout(this.sending);
    this.sending = setTimeout(() => this.tell(), SEND_AFTER);
  }

  tell() {
    clearTimeout(this.sending);
    this.pending.push({ node: this.node, step: this.step });
    this.send("view", { node: this.path(), step: this.step });
  }

  path() {
    const tokens = [];
    for (let node = this.node; node > 0; node = this.tree.parent[node]) tokens.push(this.tree.token[node]);
    return tokens.reverse();
  }
}

export default function (component) {
  const { parentElement, data, setTriggerValue } = component;
  const root = parentElement.querySelector(".tree");
  root.atlasView ??= new TreeView(root);
  root.atlasView.update(data, setTriggerValue);
  return () => root.atlasView.destroy();
}
