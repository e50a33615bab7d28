// Remembers what had the focus before a dialog or a menu took it, to give it back when that closes.

const overlay = '[role="dialog"], [role="menu"]';

let opener: HTMLElement | null = null;

function remember(event: Event) {
  const { target } = event;
  if (!(target instanceof Element) || target.closest(overlay)) return;
  // A click beside a dialog that stays open.
  if (event.type === "pointerdown" && document.querySelector(overlay)) return;
  // Safari does not focus a button that is clicked.
  opener = target.closest<HTMLElement>('a, button, input, textarea, [tabindex]:not([tabindex="-1"])');
}

document.addEventListener("focusin", remember);
document.addEventListener("pointerdown", remember, true);

/** For `onCloseAutoFocus` of a dialog. Where the opener is gone, the page's content gets the focus. */
export function focusOpener(event: Event): void {
  event.preventDefault();
  // Another dialog took this one's place.
  if (document.querySelector('[role="dialog"]')) return;
  const target = opener?.isConnected ? opener : document.getElementById("main");
  target?.focus({ preventScroll: true });
}
