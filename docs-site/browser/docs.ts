/** Search, loaded on first use. Everything else on the pages works without scripts. */
const form = document.querySelector<HTMLFormElement>("form.search")!;
const field = form.querySelector("input")!;
form.hidden = false;

let isLoading = false;
async function loadSearch() {
  if (isLoading) return;
  isLoading = true;
  try {
    const { startSearch } = await import("./search.ts");
    await startSearch(form, document.body.dataset.index!);
  } catch {
    isLoading = false;
    form.querySelector(".status")!.textContent = "Search could not be loaded. Type again to retry.";
  }
}

field.addEventListener("focus", loadSearch);
field.addEventListener("input", loadSearch);
form.addEventListener("submit", (event) => event.preventDefault());
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target instanceof HTMLInputElement) return;
  event.preventDefault();
  field.focus();
});
