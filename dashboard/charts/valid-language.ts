// uPlot formats numbers in `navigator.language` as soon as it is loaded. In a C or POSIX locale, Chromium's is
// "en-US@posix", which is no language tag, so uPlot would fail to load. Imported before it.
try {
  new Intl.NumberFormat(navigator.language);
} catch {
  Object.defineProperty(navigator, "language", { value: "en-US" });
}
