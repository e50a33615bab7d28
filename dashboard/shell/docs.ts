/** Opens the documentation in a tab of its own, so that the feed stays open. */
export function openDocs(): void {
  window.open("/docs", "_blank", "noopener");
}
