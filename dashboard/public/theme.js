// Runs before the first paint, so that a dark page never flashes white. Not inline, because the CSP forbids it.
(() => {
  let choice = "system";
  try {
    choice = localStorage.getItem("tidings.theme") ?? "system";
  } catch {
    // Storage is blocked: use the system theme.
  }
  const dark =
    choice === "dark" || (choice !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.classList.toggle("dark", dark);
  document.querySelector('meta[name="theme-color"]')?.setAttribute("content", dark ? "#151412" : "#f7f5f1");
})();
