/** What the pages do with scripts: search, loaded on first use, and buttons that copy code. */
showCurrentPage();
// Browsers have a clipboard only over HTTPS and on localhost.
if (navigator.clipboard) for (const block of document.querySelectorAll(".code")) addCopyButton(block);

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

/** Scrolls the list of pages, which is longer than most screens, to the page that is open. */
function showCurrentPage() {
  const list = document.querySelector<HTMLElement>(".pages")!;
  const current = list.querySelector<HTMLElement>("[aria-current]");
  if (current && current.offsetTop > list.clientHeight)
    list.scrollTop = current.offsetTop - list.clientHeight / 2;
}

function addCopyButton(block: Element) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    const isCopied = await navigator.clipboard.writeText(block.querySelector("pre")!.textContent).then(
      () => true,
      () => false,
    );
    button.textContent = isCopied ? "Copied" : "Not allowed";
    setTimeout(() => {
      button.textContent = "Copy";
    }, 2_000);
  });
  block.append(button);
}
