import type { Page } from "playwright-core";

/** An ellipsis with less room than this, in pixels, leaves nothing to read. */
const readablePx = 24;

/** What may be wider than its page, and scrolls in its own box: code, and tables of texts or of many periods. */
const scrollers = "pre, textarea, .tile-rows:has(.tile-retention)";

/**
 * What a reader can't see or reach at the page's current size, as a sentence for each: text and controls that are cut
 * without an ellipsis, that end outside of the viewport where nothing scrolls, that are shortened to almost nothing, or
 * that something else covers; and a page that scrolls sideways.
 */
export async function layoutFaults(page: Page): Promise<string[]> {
  // Two frames: one for what observes sizes, one for what that renders.
  await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
  return page.evaluate<string[]>(`(${findFaults})(${readablePx}, ${JSON.stringify(scrollers)})`);
}

/** A page script. Boxes that scroll show what is in them, so that only their own place is looked at. */
const findFaults = `(readablePx, scrollers) => {
  const root = document.documentElement;
  const [width, height] = [root.clientWidth, root.clientHeight];
  const faults = new Set();
  if (root.scrollWidth > width) faults.add("The page is " + root.scrollWidth + " pixels wide, in " + width + ".");

  const words = (element) =>
    ((element.getAttribute("aria-label") ?? element.textContent) || element.className.toString())
      .trim().replaceAll(/\\s+/g, " ").slice(0, 60);
  const named = (element) => "<" + element.localName + "> " + words(element);
  const scrolls = (overflow) => overflow === "auto" || overflow === "scroll";
  const hides = (overflow) => overflow === "hidden" || overflow === "clip";
  /** For screen readers only, or on its way out. */
  const isUnseen = (element) => {
    if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) return true;
    for (let each = element; each; each = each.parentElement) {
      const { width, height } = each.getBoundingClientRect();
      const style = getComputedStyle(each);
      if ((width <= 1 || height <= 1) && hides(style.overflowX)) return true;
      if (style.clipPath === "inset(50%)" || each.localName === "dialog") return style.clipPath === "inset(50%)";
    }
    return false;
  };

  /** Out of the way until it has the focus. */
  const isSkipLink = (element) =>
    element.matches('a[href^="#"]') && (element.getBoundingClientRect().bottom <= 0 || element.getBoundingClientRect().right <= 0);

  /** Checks a box of an element against everything that could cut it. Returns the part that can be seen now. */
  function check(element, what, { left, right, top, bottom }) {
    const box = { left, right, top, bottom };
    let seen = { ...box };
    let isPositioned = true;
    for (let each = element; each && each !== root; each = each.parentElement) {
      const style = getComputedStyle(each);
      const outer = each.getBoundingClientRect();
      // What is placed absolutely is not cut by boxes up to the one that it is placed in.
      const clips = each === element || isPositioned || style.position !== "static";
      if (clips) {
        isPositioned = style.position !== "absolute";
        for (const [overflow, low, high] of [[style.overflowX, "left", "right"], [style.overflowY, "top", "bottom"]]) {
          if (overflow === "visible") continue;
          seen[low] = Math.max(seen[low], outer[low]);
          seen[high] = Math.min(seen[high], outer[high]);
          if (scrolls(overflow)) [box[low], box[high]] = [outer[low], outer[high]];
          else if (box[low] < outer[low] - 1.5 || box[high] > outer[high] + 1.5) {
            const isShortened = style.textOverflow === "ellipsis" || style.webkitLineClamp !== "none";
            if (!isShortened) faults.add(what + " is cut (" + high + ") by " + named(each) + ".");
            else if (low === "left" && outer.right - outer.left < readablePx)
              faults.add(what + " is shortened to " + Math.round(outer.right - outer.left) + " pixels.");
            [box[low], box[high]] = [Math.max(box[low], outer[low]), Math.min(box[high], outer[high])];
          }
        }
      }
      if (style.position === "fixed") break;
    }
    if (box.left < -1.5 || box.right > width + 1.5) faults.add(what + " ends outside of the viewport.");
    const isScrolling = root.scrollHeight > height && getComputedStyle(root).overflowY !== "hidden";
    if (!isScrolling && (box.top < -1.5 || box.bottom > height + 1.5)) faults.add(what + " ends below the viewport.");
    return seen;
  }

  for (const box of document.body.querySelectorAll("*")) {
    if (box.scrollWidth <= box.clientWidth + 1 || !scrolls(getComputedStyle(box).overflowX) || isUnseen(box)) continue;
    if (!box.closest(scrollers)) faults.add(named(box) + " scrolls sideways.");
  }

  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    if (text.data.trim() === "" || isUnseen(text.parentElement) || isSkipLink(text.parentElement)) continue;
    range.selectNodeContents(text);
    for (const rect of range.getClientRects())
      if (rect.width > 0) check(text.parentElement, '"' + text.data.trim().slice(0, 60) + '"', rect);
  }

  for (const control of document.querySelectorAll("a[href], button, input, select, textarea")) {
    if (isUnseen(control) || isSkipLink(control)) continue;
    const what = named(control);
    const seen = check(control, what, control.getBoundingClientRect());
    const [x, y] = [(seen.left + seen.right) / 2, (seen.top + seen.bottom) / 2];
    // Scrolled away.
    if (seen.right - seen.left < 4 || seen.bottom - seen.top < 4 || x < 0 || y < 0 || x >= width || y >= height) continue;
    if (getComputedStyle(control).pointerEvents === "none") continue;
    const top = document.elementFromPoint(x, y);
    const isOwn = control.contains(top) || top?.contains(control) || top?.closest("label")?.control === control;
    if (!isOwn) faults.add(what + " is covered by " + (top ? named(top) : "nothing") + ".");
  }
  return [...faults];
}`;
