import { readFile } from "node:fs/promises";
import { join } from "node:path";

export type Example = { name: string; text: string };

/** What examples use without a declaration, and what declares it. */
const declarations: [uses: RegExp, declares: RegExp, declaration: string][] = [
  [/\bcreateClient\b/, /import \{ createClient\b/, `import { createClient } from "@tidings/client";`],
  [
    /\btidings\.|\(tidings\b/,
    /const tidings\b/,
    `import { createClient as create } from "@tidings/client";
const tidings = create({ baseUrl: "https://tidings.example.com", apiKey: "tdg_sk_…" });`,
  ],
  [/client\/express/, /const app\b/, `import express from "express";\nconst app = express();`],
  [
    /client\/hono/,
    /const app\b/,
    `import { Hono } from "hono";\nconst app = new Hono<{ Variables: { userId: string } }>();`,
  ],
  [/client\/fastify/, /const app\b/, `import Fastify from "fastify";\nconst app = Fastify();`],
  [
    /\borders\.map/,
    /const orders\b/,
    `const orders = [{ buyer: "u1", date: new Date() }, { buyer: "u2", date: new Date() }];`,
  ],
  [/\{ signal \}/, /const \{ signal/, "const { signal } = new AbortController();"],
  [
    /savePosition\(/,
    /function savePosition/,
    "declare function savePosition(id: string | undefined): Promise<void>;",
  ],
];

/** Types of what the examples run on, but is not installed. */
export const exampleGlobals = `
declare module "npm:@tidings/client" {
  export * from "@tidings/client";
}
declare module "next/server" {
  export function after(task: () => unknown): void;
}
declare const Deno: { env: { get(name: string): string | undefined } };
type Env = { TIDINGS_API_KEY: string };
type ExecutionContext = { waitUntil(promise: Promise<unknown>): void };
`;

/** The examples of README.md as files of TypeScript, with what they leave out. */
export async function readmeExamples(): Promise<Example[]> {
  const readme = await readFile(join(import.meta.dir, "../../README.md"), "utf8");
  const blocks = readme.matchAll(/^ *```(tsx?)\n(.*?)^ *```$/gms);
  return Array.from(blocks, ([, extension, text], index) => {
    const left = declarations.filter(([uses, declares]) => uses.test(text!) && !declares.test(text!));
    const added = new Set(left.map(([, , declaration]) => declaration));
    return { name: `example-${index + 1}.${extension}`, text: [...added, text, "export {};\n"].join("\n") };
  });
}
