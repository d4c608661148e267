/**
 * The presenter's strip at the lower edge, and the keys of a talk (walking_keys.js, loaded before this file).
 *
 * A key that a walk on the page takes is not seen here. What is left leads through the stops of a tour. Notes and help
 * are kept by the window, because every page has a strip of its own. Text is written through textContent only.
 *
 * data: { talk: whether talk mode is on, said: a remark, note; stop, stops: of a tour, from 1; stops is 0 without one;
 *         size: that Python draws figures for }.
 * trigger "go": the stop to show. trigger "leave": true. trigger "size": of the type, as a multiple of 16 pixels.
 */

const PATIENCE_MS = 2000;
const ASK_AGAIN_MS = 500; // what is told while a page is drawn can be lost

const kept = (globalThis.atlasTalk ??= { notes: true });
const strips = new WeakMap();

export default function render({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".strip");
  let strip = strips.get(root);
  if (!strip) {
    strip = new Strip(root);
    strips.set(root, strip);
  }
  strip.update(data, setTriggerValue);
  return () => {
    strip.remove();
    strips.delete(root);
  };
}

class Strip {
  constructor(root) {
    this.root = root;
    for (const part of ["help", "note", "said", "tour", "back", "place", "next", "notes", "full", "keys", "leave"]) {
      this[part] = root.querySelector(`[data-part="${part}"]`);
    }
    this.back.addEventListener("click", () => this.go(-1));
    this.next.addEventListener("click", () => this.go(1));
    this.notes.addEventListener("click", () => this.turnNotes());
    this.full.addEventListener("click", () => this.turnFull());
    this.keys.addEventListener("click", () => this.turnHelp());
    this.leave.addEventListener("click", () => this.end());
    this.lens = new Lens(root.querySelector('[data-part="lens"]'));
    this.full.hidden = !document.fullscreenEnabled;
    // Whoever walks on this page listens on the window too and comes first, whenever it was drawn: for each key this
    // listener is put behind all others.
    this.answer = (event) => this.key(event);
    this.first = () => {
      window.removeEventListener("keydown", this.answer);
      window.addEventListener("keydown", this.answer);
    };
    window.addEventListener("keydown", this.first, true);
    this.onFull = () => this.full.setAttribute("aria-pressed", String(Boolean(document.fullscreenElement)));
    document.addEventListener("fullscreenchange", this.onFull);
    this.onFull();
  }

  update(data, setTriggerValue) {
    this.data = data;
    this.send = setTriggerValue;
    this.patience = 0; // until when the server is not asked for the same stop again
    this.said.textContent = data.said;
    this.note.textContent = data.note;
    this.tour.hidden = !data.stops;
    this.place.textContent = `${data.stop} of ${data.stops}`;
    this.back.disabled = data.stop <= 1;
    this.next.disabled = data.stop >= data.stops;
    this.notes.hidden = !data.note;
    this.leave.textContent = data.talk ? "Leave talk mode" : "Leave the tour";
    this.lens.on = data.talk;
    this.showNotes();
    this.makeRoom();
    clearTimeout(this.telling);
    this.telling = setTimeout(() => this.tellSize(), 50);
  }

  /** Figures are drawn by Python, which does not know how large the type of this window is. */
  tellSize() {
    const size = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
    if (!this.data.talk || Math.abs(size - this.data.size) < 0.01) return;
    this.send("size", size);
    this.telling = setTimeout(() => this.tellSize(), ASK_AGAIN_MS);
  }

  key(event) {
    if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey) return;
    const move = walkOf(event);
    if (move) {
      if (!this.data.stops || !this.go(move)) return;
    } else if (keyIsTaken(event) || event.repeat || event.shiftKey) return;
    else if (event.key === "Escape" && this.data.talk && !this.somethingOpen()) this.end();
    else if (event.key === "f" && this.data.talk && document.fullscreenEnabled) this.turnFull();
    else if (event.key === "n" && this.data.note) this.turnNotes();
    else return;
    event.preventDefault();
  }

  /** Another stop, counted from the one that is shown: two quick clicks ask for the same one and skip nothing. */
  go(move) {
    const stop = this.data.stop + move;
    if (stop < 1 || stop > this.data.stops) return false;
    if (performance.now() < this.patience) return true;
    this.patience = performance.now() + PATIENCE_MS;
    clearTimeout(this.telling);
    window.dispatchEvent(new Event("atlas:leaving")); // what a walk would still tell is of no use any more
    this.place.textContent = `${stop} of ${this.data.stops}`;
    document.querySelector('[data-testid="stMain"]')?.scrollTo(0, 0);
    this.send("go", stop);
    return true;
  }

  end() {
    if (document.fullscreenElement) document.exitFullscreen();
    this.send("leave", true);
  }

  /** An open menu, popover or dialogue closes with Escape; talk mode must not end with it. */
  somethingOpen() {
    return Boolean(document.querySelector('[data-baseweb="popover"], [role="dialog"], [role="menu"]'));
  }

  turnFull() {
    if (document.fullscreenElement) document.exitFullscreen();
    else document.documentElement.requestFullscreen();
  }

  turnNotes() {
    kept.notes = !kept.notes;
    this.showNotes();
    this.makeRoom();
  }

  showNotes() {
    this.note.hidden = !kept.notes || !this.data.note;
    this.notes.setAttribute("aria-pressed", String(kept.notes));
  }

  turnHelp() {
    this.help.hidden = !this.help.hidden;
    this.keys.setAttribute("aria-expanded", String(!this.help.hidden));
    this.makeRoom();
  }

  /** The end of the page can be scrolled above the strip, however high it is. */
  makeRoom() {
    document.documentElement.style.setProperty("--atlas-strip", `${this.root.offsetHeight}px`);
  }

  remove() {
    clearTimeout(this.telling);
    this.lens.remove();
    window.removeEventListener("keydown", this.first, true);
    window.removeEventListener("keydown", this.answer);
    document.removeEventListener("fullscreenchange", this.onFull);
    document.documentElement.style.removeProperty("--atlas-strip");
  }
}
