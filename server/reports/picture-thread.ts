/** Turns an SVG into a PNG on a thread of its own, which ends after that: it needs 50 MB and a quarter of a second. */
import { readFileSync } from "node:fs";
import { initWasm, Resvg } from "@resvg/resvg-wasm";
import { pictureFiles } from "../process/program-files.ts";

declare const self: Worker & { onmessage: (message: MessageEvent<string>) => void };

const scale = 2;

self.onmessage = async ({ data: svg }) => {
  const { program, fonts } = pictureFiles();
  await initWasm(readFileSync(program));
  const font = {
    fontBuffers: fonts.map((file) => new Uint8Array(readFileSync(file))),
    defaultFontFamily: "Hanken Grotesk",
  };
  const image = new Resvg(svg, { fitTo: { mode: "zoom", value: scale }, font }).render();
  self.postMessage(image.asPng());
};
