/**
 * Copies the address of the page, which says exactly what is shown, and tells so.
 *
 * navigator.clipboard exists on https and localhost only. Elsewhere a selection is copied; where the browser refuses that
 * too, the address is shown, selected, to be copied by hand.
 */

const TOLD_MS = 2000;
const mounted = new WeakSet();

/** Copy what is selected in a field of its own; false where the browser does not let it. */
function copySelection(text) {
  const field = Object.assign(document.createElement("textarea"), { value: text, readOnly: true });
  field.style.cssText = "position:fixed;top:0;opacity:0";
  const before = document.activeElement;
  document.body.append(field);
  field.select();
  try {
    return document.execCommand("copy");
  } finally {
    field.remove();
    before?.focus?.();
  }
}

async function copied(text) {
  if (!navigator.clipboard) return copySelection(text);
  return navigator.clipboard.writeText(text).then(
    () => true,
    () => copySelection(text), // the visitor or the page's policy forbids it
  );
}

export default function (component) {
  const root = component.parentElement.querySelector(".copy");
  if (mounted.has(root)) return;
  mounted.add(root);
  const [button, label, status] = ["button", '[data-part="label"]', '[role="status"]'].map((part) => root.querySelector(part));
  const byHand = root.querySelector(".by-hand");
  const field = byHand.querySelector("input");
  let timer;
  button.addEventListener("click", async () => {
    const address = window.location.href.split("#")[0];
    if (await copied(address)) {
      byHand.hidden = true;
      label.textContent = "Copied";
      status.textContent = "The link to this view was copied.";
      clearTimeout(timer);
      timer = setTimeout(() => {
        label.textContent = "Copy link";
        status.textContent = "";
      }, TOLD_MS);
    } else {
      field.value = address;
      byHand.hidden = false;
      field.focus();
      field.select();
    }
  });
  const close = () => (byHand.hidden = true);
  byHand.addEventListener("keydown", (event) => event.key === "Escape" && (close(), button.focus()));
  byHand.addEventListener("focusout", close);
}
