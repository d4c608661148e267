/**
 * A walk through named steps. It moves at once in the browser and tells Python when it has come to rest.
 *
 * Keys work from anywhere on the page (walking_keys.js, loaded before this file, says when not). At either end a key
 * keeps its ordinary meaning: it scrolls, or leads to the next stop of a tour. Labels are written through textContent
 * only.
 *
 * data: { labels: names of the steps, step: from 0 }. trigger "step": where the visitor came to rest.
 */

const SETTLE_MS = 150; // a held key moves at once and tells Python when it rests

const views = new WeakMap();

export default function render({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".stepper");
  let view = views.get(root);
  if (!view) {
    view = new Stepper(root);
    views.set(root, view);
  }
  view.update(data, setTriggerValue);
  return () => {
    view.remove();
    views.delete(root);
  };
}

class Stepper {
  constructor(root) {
    this.root = root;
    for (const part of ["back", "next", "count", "slider", "marks", "label"]) {
      this[part] = root.querySelector(`[data-part="${part}"]`);
    }
    this.pending = []; // steps that Python was told and has not echoed
    this.back.addEventListener("click", () => this.go(this.step - 1));
    this.next.addEventListener("click", () => this.go(this.step + 1));
    this.slider.addEventListener("input", () => this.go(Number(this.slider.value)));
    this.onKey = (event) => this.key(event);
    window.addEventListener("keydown", this.onKey);
    this.onLeaving = () => clearTimeout(this.telling);
    window.addEventListener("atlas:leaving", this.onLeaving);
    this.pen = document.createElement("canvas").getContext("2d");
    this.watcher = new ResizeObserver(() => this.placeMarks());
    this.watcher.observe(root);
  }

  update(data, setTriggerValue) {
    this.send = setTriggerValue;
    const names = JSON.stringify(data.labels);
    const echo = this.pending.indexOf(data.step);
    if (names !== this.names) {
      this.names = names;
      this.labels = data.labels;
      this.slider.max = String(data.labels.length - 1);
      this.pending = [];
      clearTimeout(this.telling);
      this.show(data.step);
      this.placeMarks();
    } else if (echo >= 0) {
      this.pending.splice(0, echo + 1); // the visitor may have moved on since
    } else if (data.step !== this.told) {
      this.pending = []; // Python decided
      clearTimeout(this.telling);
      this.show(data.step);
    }
    this.told = data.step;
  }

  key(event) {
    const move = event.shiftKey ? 0 : walkOf(event, this.slider);
    const own = event.composedPath()[0] === this.slider;
    if (!move || (own && event.key.startsWith("Arrow"))) return;
    if (!own && (this.step + move < 0 || this.step + move >= this.labels.length)) return;
    event.preventDefault();
    this.go(this.step + move);
  }

  go(step) {
    const next = Math.max(0, Math.min(this.labels.length - 1, step));
    if (next === this.step) return;
    this.show(next);
    clearTimeout(this.telling);
    this.telling = setTimeout(() => {
      this.pending.push(this.step);
      this.send("step", this.step);
    }, SETTLE_MS);
  }

  show(step) {
    this.step = step;
    const last = this.labels.length - 1;
    this.slider.value = String(step);
    this.slider.setAttribute("aria-valuetext", `${step + 1} of ${last + 1}: ${this.labels[step]}`);
    this.count.textContent = `${step + 1} of ${last + 1}`;
    this.label.textContent = this.labels[step];
    this.back.disabled = step === 0;
    this.next.disabled = step === last;
    this.root.dataset.step = String(step);
    [...this.marks.children].forEach((mark, place) => mark.classList.toggle("now", place === step));
  }

  /** The names of all steps under the slider, where they fit side by side. */
  placeMarks() {
    const room = this.marks.parentElement.clientWidth - 16;
    if (!this.labels || room <= 0) return;
    const unit = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
    this.pen.font = `700 ${12 * unit}px ${getComputedStyle(this.root).fontFamily}`;
    const last = this.labels.length - 1;
    const wide = this.labels.map((label) => this.pen.measureText(label).width + 6);
    // The first name begins at its step and the last one ends at it; the others stand around theirs.
    const before = (place) => (place === last ? wide[place] : wide[place] / 2);
    const after = (place) => (place === 0 ? wide[place] : wide[place] / 2);
    const fits = last > 0 && wide.every((_, place) => place === 0 || after(place - 1) + before(place) <= room / last);
    this.marks.hidden = !fits;
    this.marks.replaceChildren();
    if (!fits) return;
    this.labels.forEach((label, place) => {
      const mark = document.createElement("span");
      mark.textContent = label;
      mark.style.left = `${(100 * place) / last}%`;
      mark.addEventListener("click", () => this.go(place));
      this.marks.append(mark);
    });
    this.show(this.step);
  }

  remove() {
    clearTimeout(this.telling);
    window.removeEventListener("keydown", this.onKey);
    window.removeEventListener("atlas:leaving", this.onLeaving);
    this.watcher.disconnect();
  }
}
