/** How long large bodies of senders hold up everybody else, and what of them is refused. */
import { expect, test } from "bun:test";
import { limits } from "../core/limits.ts";
import { ProblemError } from "../core/problems.ts";
import type { WebhookSource } from "../schemas/webhook.ts";
import { parseBodyOf } from "./sources.ts";

const bytesMax = limits.foreignBatchBytes;
const form = "application/x-www-form-urlencoded";

/** What parsing returns or throws, and the longest time that it kept the processor without a break. */
async function parsed(source: WebhookSource, text: string, type: string | null = null) {
  const bytes = Buffer.from(text);
  let longestMs = 0;
  let usage = process.cpuUsage();
  const tick = () => {
    const { user, system } = process.cpuUsage(usage);
    longestMs = Math.max(longestMs, (user + system) / 1_000);
    usage = process.cpuUsage();
  };
  const timer = setInterval(tick, 0);
  const result = await parseBodyOf(source, bytes, type, 1).catch((error: unknown) => error);
  tick();
  clearInterval(timer);
  return { result, longestMs, problem: result instanceof ProblemError ? result.code : null };
}

test("a router's line with a million fields", async () => {
  const line = `<158>1 2026-11-26T12:00:00Z host heroku router - status=503 ${"k= ".repeat(1_340_000)}`;
  const { result, longestMs } = await parsed("heroku", `${Buffer.byteLength(line)} ${line}`);
  expect(result).toMatchObject([{ fields: { status: "503" } }]);
  expect(longestMs).toBeLessThan(150);
});

test("lines that are nothing but white space", async () => {
  const { longestMs } = await parsed("vercel", " ".repeat(bytesMax));
  expect(longestMs).toBeLessThan(100);
});

test("forms are small, and their fields are counted first", async () => {
  for (const source of ["alertmanager", "plain"] as const) {
    const large = await parsed(source, "a=&".repeat(bytesMax / 3), form);
    expect(large).toMatchObject({ problem: "body-too-large" });
    expect(large.longestMs).toBeLessThan(100);
    const many = await parsed(source, "a=&".repeat(limits.webhookValues + 1), form);
    expect(many).toMatchObject({ problem: "body-invalid" });
  }
});

test("lines together have as many values as an array", async () => {
  const line = `[${"0,".repeat(1_998)}0]`;
  const fits = await parsed("netlify", `{"a":0}\n${`${line}\n`.repeat(249)}`);
  expect(fits.result).toHaveLength(250);
  expect(await parsed("netlify", `{"a":0}\n${`${line}\n`.repeat(251)}`)).toMatchObject({
    problem: "body-invalid",
  });
});
