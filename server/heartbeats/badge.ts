import type { HeartbeatStateName } from "../schemas/heartbeat.ts";

/** Colors with a contrast to white of at least 4.5 (https://www.w3.org/TR/WCAG22/#contrast-minimum). */
const colors: Record<HeartbeatStateName, string> = {
  up: "#2a7f3e",
  started: "#2a7f3e",
  late: "#9a6700",
  down: "#c93c37",
  new: "#656d76",
  paused: "#656d76",
};

/** Shown in place of "started": a run in progress is nothing to worry about. */
const words: Record<HeartbeatStateName, string> = {
  new: "new",
  up: "up",
  started: "up",
  late: "late",
  down: "down",
  paused: "paused",
};

const padding = 6;
const height = 20;

/** A badge in the flat form of https://shields.io: the name on gray, the state on its color. */
export function badgeSvg(name: string, state: HeartbeatStateName): string {
  const word = words[state];
  const left = widthOf(name) + 2 * padding;
  const right = widthOf(word) + 2 * padding;
  const width = left + right;
  const text = (value: string, from: number, length: number) =>
    `<text x="${from + length / 2}" y="14" textLength="${length - 2 * padding}">${escaped(value)}</text>`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" role="img" aria-label="${escaped(`${name}: ${word}`)}">`,
    `<title>${escaped(`${name}: ${word}`)}</title>`,
    `<clipPath id="r"><rect width="${width}" height="${height}" rx="3"/></clipPath>`,
    `<g clip-path="url(#r)"><rect width="${left}" height="${height}" fill="#444c56"/>`,
    `<rect x="${left}" width="${right}" height="${height}" fill="${colors[state]}"/></g>`,
    `<g fill="#fff" text-anchor="middle" font-family="Verdana,Geneva,DejaVu Sans,sans-serif" font-size="11">`,
    text(name, 0, left),
    text(word, left, right),
    "</g></svg>",
  ].join("");
}

/** About how wide a text is in Verdana of 11 pixels. `textLength` makes it exactly that. */
function widthOf(text: string): number {
  let width = 0;
  for (const character of text) {
    if (/[ijl.,:;|'!\s]/.test(character)) width += 4;
    else if (/[mwMW]/.test(character)) width += 10;
    else if (/[A-Z]/.test(character)) width += 7.7;
    else if (character.codePointAt(0)! < 0x2_00) width += 6.8;
    else width += 11;
  }
  return Math.ceil(width);
}

function escaped(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
