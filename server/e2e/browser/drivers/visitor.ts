import { mkdirSync } from "node:fs";
import { join } from "node:path";
import axe from "axe-core";
import type { Key, TestBrowser } from "./browser.ts";

const waitMaxMs = 20_000;
const pollMs = 50;
/** Where a picture of the page is written when something isn't found. */
const pictures = join(import.meta.dir, "../../../../node_modules/.cache/tidings-browsers");

/** A text, or a part of it. */
type Words = string | RegExp;
type Place = { x: number; y: number };

/**
 * Somebody in front of a browser: sees what a role and a name tell a screen reader, clicks where it is, and types.
 * Everything waits until it is there, and fails with what the page shows instead.
 */
export function visitorOf(browser: TestBrowser) {
  /** Evaluates an expression with `axe` and `shown(role, words)`, the visible elements of a role with these words. */
  async function perceive<Value>(expression: string): Promise<Value> {
    if (!(await browser.evaluate<boolean>("typeof shown === 'function'"))) await browser.evaluate(perception);
    return browser.evaluate(expression);
  }

  async function until<Value>(what: string, look: () => Promise<Value | null | false>): Promise<Value> {
    const endMs = performance.now() + waitMaxMs;
    for (;;) {
      // A page that is left while it is read has nothing yet.
      const value = await look().catch((error: unknown) => {
        if (performance.now() > endMs) throw error;
        return null;
      });
      if (value) return value;
      if (performance.now() > endMs) throw new Error(`${what}. ${await describe()}`);
      await Bun.sleep(pollMs);
    }
  }

  async function describe(): Promise<string> {
    mkdirSync(pictures, { recursive: true });
    const path = join(pictures, `${browser.name.replace(/\W+/g, "-")}-${Date.now()}.png`);
    await Bun.write(path, await browser.screenshot());
    const text = await browser.evaluate<string>("document.body.innerText");
    return `The page (${path}) shows:\n${text.slice(0, 3_000)}\nErrors: ${browser.takeComplaints().join("\n")}`;
  }

  const shown = (role: string, words: Words) => `shown(${JSON.stringify(role)}, ${patternOf(words)})`;
  const count = (role: string, words: Words) => perceive<number>(`${shown(role, words)}.length`);

  /** The middle of the element, once it is at rest and nothing covers it. */
  async function placeOf(role: string, words: Words): Promise<Place> {
    let last = "";
    return until(`Nothing to click: ${role} ${words}`, async () => {
      const place = await perceive<Place | null>(`reach(${shown(role, words)}[0])`);
      const isAtRest = place !== null && JSON.stringify(place) === last;
      last = JSON.stringify(place);
      return isAtRest && place;
    });
  }

  async function click(role: string, words: Words): Promise<void> {
    const { x, y } = await placeOf(role, words);
    await browser.click(x, y);
  }

  return {
    open: (url: string) => browser.open(url),
    click,
    press: (...keys: Key[]) => browser.press(...keys),
    type: (text: string) => browser.type(text),
    /** Waits for an element. */
    async sees(role: string, words: Words): Promise<void> {
      await until(`No ${role} ${words}`, async () => (await count(role, words)) > 0);
    },
    /** Waits until there is no such element. */
    async seesNo(role: string, words: Words): Promise<void> {
      await until(`There still is ${role} ${words}`, async () => (await count(role, words)) === 0);
    },
    count,
    /** Waits for a text anywhere on the page, and returns the whole page's. */
    reads(words: RegExp): Promise<string> {
      return until(`${words} isn't shown`, async () => {
        const text = await browser.evaluate<string>("document.body.innerText");
        return words.test(text) && text;
      });
    },
    /** Replaces what is in a field. */
    async fill(label: Words, text: string): Promise<void> {
      await click("field", label);
      await browser.press("Control", "a");
      await browser.type(text);
      await until(`"${text}" isn't in ${label}`, () =>
        perceive<boolean>(`${shown("field", label)}[0]?.value === ${JSON.stringify(text)}`),
      );
    },
    /** Waits until the address is like this. */
    async isAt(address: RegExp): Promise<void> {
      await until(`The address isn't ${address}`, async () =>
        address.test(await browser.evaluate("location.href")),
      );
    },
    /** What axe-core finds wrong with the page, as a sentence for each. */
    violations: () =>
      perceive<
        string[]
      >(`finished().then(() => axe.run(document, { resultTypes: ["violations"] })).then(({ violations }) =>
        violations.map(({ id, nodes }) => id + ": " + nodes[0].html + " " + nodes[0].failureSummary))`),
    /** How many pixels the page is wider than the window. */
    overflow: () =>
      browser.evaluate<number>("document.documentElement.scrollWidth - document.documentElement.clientWidth"),
  };
}

function patternOf(words: Words): string {
  return typeof words === "string" ? JSON.stringify(words) : words.toString();
}

/**
 * Defines `shown`, `reach` and `finished` in the page. Roles and names are those of axe-core, which computes them as
 * the standards say; a "field" is anything with a label that text can be typed into, also a password, which has no role.
 */
const perception = `(() => {
  ${axe.source}
  const { dom, text, aria } = axe.commons;
  const isField = (element) => element.matches("textarea, input:not([type=checkbox], [type=radio])");
  const roleOf = (element) => aria.getRole(element, { noPresentational: true });
  const line = (words) => words.replace(/\\s+/g, " ").trim();
  globalThis.shown = (role, words) => {
    axe.setup();
    try {
      const isMeant = (found) => typeof words === "string" ? found === words : words.test(found);
      return [...document.body.querySelectorAll("*")].filter((element) =>
        (role === "field" ? isField(element) : roleOf(element) === role) &&
        dom.isVisibleToScreenReaders(element) && element.getClientRects().length > 0 &&
        (isMeant(line(text.accessibleText(element))) || isMeant(line(element.innerText ?? ""))));
    } finally {
      axe.teardown();
    }
  };
  globalThis.reach = (element) => {
    if (!element || element.disabled) return null;
    element.scrollIntoView({ block: "nearest", behavior: "instant" });
    const { x, y, width, height } = element.getBoundingClientRect();
    const at = { x: x + width / 2, y: y + height / 2 };
    return element.contains(document.elementFromPoint(at.x, at.y)) ? at : null;
  };
  globalThis.finished = () => Promise.all(document.getAnimations()
    .filter(({ effect, timeline }) => timeline === document.timeline && effect.getComputedTiming().iterations !== Infinity)
    .map(({ finished }) => finished.catch(() => {})));
})()`;
