/**
 * Runs in a page before its own scripts and tells when what a person waits for has been painted.
 *
 * measure.start(KIND, WANTED) remembers what the page shows; the clock begins with the next event of that kind, at the
 * moment the browser received it, and stops in the first frame after the one that painted the wanted change.
 * measure.milliseconds is null until then. Shadow roots are noted when they are made: components of the app live in them.
 */
window.measure = (() => {
  const shadows = [];
  const attach = Element.prototype.attachShadow;
  Element.prototype.attachShadow = function (options) {
    const root = attach.call(this, options);
    shadows.push(root);
    return root;
  };
  const all = (selector) =>
    [document, ...shadows.filter((root) => root.host.isConnected)].flatMap((root) => [...root.querySelectorAll(selector)]);
  const labels = (selector) => all(selector).map((one) => one.getAttribute("aria-label")).join("\n");
  const picture = () => all(".heatmaplayer image").map((one) => one.getAttribute("href") ?? one.getAttribute("xlink:href")).at(-1);
  const look = () => ({ tips: labels(".mosaic .option"), lines: labels(".lines svg"), picture: picture() });

  const wanted = {
    heads: (before) => all(".mosaic .option").length > 0 && labels(".mosaic .option") !== before.tips,
    head: (before) => labels(".lines svg") !== before.lines && picture() !== before.picture,
    lit: () => all(".lines svg.choice").length > 0, // of many tokens a word may have no line over the threshold
    search: () => all("h1").some((one) => one.textContent === "Beam search") && all(".tree svg *").length > 2,
    thumbnails: () => all("#vis .attn_background").length > 0,
    arcs: () => all("#vis #attention line").length > 0,
    visible: () => all("#attention line[visibility='visible']").length > 0,
  };

  const measure = { milliseconds: null, start, sincePageBegan };

  function start(kind, name) {
    const before = look();
    let began = null;
    measure.milliseconds = null;
    const note = (event) => (began = event.timeStamp);
    window.addEventListener(kind, note, { capture: true, once: true });
    watch(() => began !== null && wanted[name](before), () => began);
  }

  /** The same for a page that is being opened: the clock began with the navigation. */
  function sincePageBegan(name) {
    measure.milliseconds = null;
    watch(() => wanted[name](), () => 0);
  }

  function watch(done, began) {
    const frame = () => {
      if (!done()) requestAnimationFrame(frame);
      else requestAnimationFrame(() => (measure.milliseconds = performance.now() - began()));
    };
    requestAnimationFrame(frame);
  }

  return measure;
})();
