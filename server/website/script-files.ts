import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { dashboardDirectory } from "../process/program-files.ts";

/** The built script: its versions by encoding, and its hash. */
type ScriptFiles = { hash: string; integrity: string; bodies: Map<string, Uint8Array<ArrayBuffer>> };

const scriptName = /^page-script-(\w+)\.js$/;
const encodings = { br: ".br", gzip: ".gz", identity: "" };

let read: Promise<ScriptFiles | null> | null = null;

/** Reads the script as `npm run build` wrote it; null if it isn't built. It is read once. */
export function scriptFiles(): Promise<ScriptFiles | null> {
  read ??= readFiles();
  return read;
}

async function readFiles(): Promise<ScriptFiles | null> {
  const directory = join(dashboardDirectory, "assets");
  const name = existsSync(directory) && readdirSync(directory).find((file) => scriptName.test(file));
  if (!name) return null;
  const bodies = new Map<string, Uint8Array<ArrayBuffer>>();
  for (const [encoding, suffix] of Object.entries(encodings)) {
    const file = Bun.file(join(directory, name + suffix));
    if (await file.exists()) bodies.set(encoding, await file.bytes());
  }
  const digest = new Bun.CryptoHasher("sha384").update(bodies.get("identity")!).digest("base64");
  return { hash: scriptName.exec(name)![1]!, integrity: `sha384-${digest}`, bodies };
}

/** The first encoding that a browser accepts, of those that there are. */
export function encodingFor(accepted: string | null, { bodies }: ScriptFiles): string {
  const wanted = (accepted ?? "").split(",").map((part) => part.trim().split(";", 1)[0]!);
  return ["br", "gzip"].find((encoding) => wanted.includes(encoding) && bodies.has(encoding)) ?? "identity";
}
