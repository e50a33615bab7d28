import { sha256 as hashOf } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";

type Native = { SHA256: { hash(text: string, encoding: "hex"): string } };
const native = (globalThis as { Bun?: Native }).Bun;

export function sha256InJavaScript(text: string): string {
  return bytesToHex(hashOf(utf8ToBytes(text)));
}

/** SHA-256 of a text in UTF-8, in hexadecimal, also in browsers. Bun's own is ten times as fast there. */
export const sha256 = native ? (text: string): string => native.SHA256.hash(text, "hex") : sha256InJavaScript;
