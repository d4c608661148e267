/**
 * The keys that walk through steps, one rule for all who listen to them on the whole page.
 *
 * ArrowLeft, ArrowRight, PageUp and PageDown (what clickers send) walk, except where the focus is in something that
 * uses them itself: no key while someone types or holds a slider, a list or a menu; no arrow in radio buttons, tabs
 * and the like. With Ctrl, Alt or Meta they keep their ordinary meaning. Loaded before the file that uses it.
 */

const WALKS = { ArrowLeft: -1, PageUp: -1, ArrowRight: 1, PageDown: 1 };
const TAKES_ALL =
  'input:not([type="button"]):not([type="checkbox"]):not([type="radio"]), textarea, select, [contenteditable=""], ' +
  '[contenteditable="true"], [role="textbox"], [role="combobox"], [role="listbox"], [role="slider"], [role="spinbutton"], ' +
  '[role="menu"], [role="grid"], [role="tree"], [role="application"], video, audio';
const TAKES_ARROWS = 'input[type="radio"], [role="radio"], [role="radiogroup"], [role="tab"], [role="tablist"], [role="menubar"]';

/**
 * Whether the element that has the focus, or one around it, uses this key itself. Not asked are `own` and, for
 * PageUp and PageDown, pictures of ours that take arrows only and say so (data-page-keys="free").
 */
function keyIsTaken(event, own = null) {
  const arrow = event.key.startsWith("Arrow");
  const taking = arrow ? `${TAKES_ALL}, ${TAKES_ARROWS}` : TAKES_ALL;
  const asked = (node) => node instanceof Element && node !== own && (arrow || node.dataset.pageKeys !== "free");
  return event.composedPath().some((node) => asked(node) && node.matches(taking));
}

/** Where a key leads: -1 back, 1 on, 0 nowhere. */
function walkOf(event, own = null) {
  const move = WALKS[event.key];
  if (!move || event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey) return 0;
  return keyIsTaken(event, own) ? 0 : move;
}
