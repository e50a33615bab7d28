type Emit = (name: string, tags: Record<string, string>) => void;

const prefix = "data-tidings-";
const eventAttribute = `${prefix}event`;
const fileEnding =
  /\.(?:pdf|docx?|xlsx?|pptx?|csv|zip|gz|7z|rar|dmg|pkg|exe|msi|deb|rpm|apk|mp[34]|mov|epub)$/i;

/** Emits what links, forms and marked elements are used for. */
export function watchClicks(emit: Emit, isOn: (feature: string, byDefault?: boolean) => boolean): void {
  function onClick({ target }: Event): void {
    const element = target as Element;
    emitMarked(element.closest(`[${eventAttribute}]:not(form)`));
    const link = element.closest<HTMLAnchorElement>("a[href]");
    if (!link || !/^http/.test(link.protocol)) return;
    // Queries can have secrets.
    const address = link.origin + link.pathname;
    if (link.hasAttribute("download") || fileEnding.test(link.pathname)) {
      if (isOn("downloads")) emit("File downloaded", { file: address });
    } else if (link.host !== location.host && isOn("links")) emit("Outgoing link", { link: address });
  }

  function emitMarked(element: Element | null): boolean {
    if (!element) return false;
    const tags: Record<string, string> = {};
    for (const { name, value } of element.attributes)
      if (name.startsWith(prefix) && name !== eventAttribute) tags[name.slice(prefix.length)] = value;
    emit(element.getAttribute(eventAttribute)!, tags);
    return true;
  }

  document.addEventListener("click", onClick, true);
  // The middle button opens links, too.
  document.addEventListener("auxclick", (event) => event.button === 1 && onClick(event), true);
  document.addEventListener(
    "submit",
    ({ target }) => {
      const form = target as HTMLFormElement;
      if (emitMarked(form.closest(`form[${eventAttribute}]`)) || !isOn("forms", false)) return;
      // A field named "id" would hide the form's own.
      emit("Form sent", { form: form.getAttribute("id") || form.getAttribute("name") || "form" });
    },
    true,
  );
}

/** Errors of a page load that are emitted: a loop could have thousands. */
const errorsMax = 10;

/** Emits uncaught errors. */
export function watchErrors(emit: Emit): void {
  let left = errorsMax;
  const report = (error: unknown, source?: string) => {
    if (left-- > 0) emit("Error", { message: String(error).slice(0, 500), ...(source && { source }) });
  };
  window.addEventListener("error", ({ message, filename, lineno }) => {
    if (message) report(message, filename && `${filename}:${lineno}`);
  });
  window.addEventListener("unhandledrejection", ({ reason }) => report(reason));
}
