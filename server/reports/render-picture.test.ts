// @long
/** Pictures are drawn by the real resvg, with the fonts that the program comes with. */
import { expect, test } from "bun:test";
import { renderPicture } from "./render-picture.ts";
import { textAt } from "./svg.ts";

async function draw(text: string): Promise<string> {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="300" height="40">${textAt(5, 30, text, { size: 20 })}</svg>`;
  return Buffer.from(await renderPicture(1, svg)).toString("base64");
}

test("letters of other alphabets are drawn, and are no boxes", async () => {
  // Boxes of missing letters would be the same for texts of the same length.
  for (const [one, other] of [
    ["Größe", "Ärger"],
    ["Œuvre ąęž Привет ốệ", "Œuvre ćśń Москва ốệ"],
    ["ąęžłó", "śćńźż"],
    ["заказ", "почта"],
    ["Αθήνα", "Πάτρα"],
    ["שלום", "תודה"],
  ] as const)
    expect(await draw(one)).not.toBe(await draw(other));
});
