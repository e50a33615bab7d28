// Remembers the focused element before a dialog or menu opens, to restore the focus when it closes.

const overlay = '[role="dialog"], [role="menu"]';

let opener: HTMLElement | null = null;

function remember(event: Event) {
  const { target } = event;
  if (!(target instanceof Element) || target.closest(overlay)) return;
  // A click outside a dialog that stays open.
  if (event.type === "pointerdown" && document.querySelector(overlay)) return;
  // Safari does not focus a clicked button, so take the closest focusable element.
  opener = target.closest<HTMLElement>('a, button, input, textarea, [tabindex]:not([tabindex="-1"])');
}

document.addEventListener("focusin", remember);
document.addEventListener("pointerdown", remember, true);

/** For a dialog's `onCloseAutoFocus`. If the opener is gone, the page's content gets the focus. */
export function focusOpener(event: Event): void {
  event.preventDefault();
  // Another dialog has replaced this one.
  if (document.querySelector('[role="dialog"]')) return;
  const target = opener?.isConnected ? opener : document.getElementById("main");
  target?.focus({ preventScroll: true });
}
