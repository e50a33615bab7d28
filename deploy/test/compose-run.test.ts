/**
 * The services of `deploy/compose.yaml` and `deploy/compose.postgres.yaml`, run by Docker Compose: health, rights,
 * commands, a crash, and data that stays; two nodes behind Caddy, of which one is lost while events arrive.
 */
// @long
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { runProgram } from "../../clients/testing/programs.ts";
import { freePort } from "../../server/testing/postgres.ts";
import { until } from "../../server/testing/until.ts";
import { imageUser, root } from "./containers.ts";
import { composed, noCompose, provideImages } from "./docker.ts";

/** npm installs as fast as the registry answers. */
const buildMs = 1_800_000;
type Project = ReturnType<typeof composed>;

if (noCompose !== null) console.log(`Skipped: ${noCompose}.`);

/** Creates the account on one node, and a key on another or the same. Returns the headers that send it. */
async function createKey(project: Project, first: string, second: string): Promise<Record<string, string>> {
  const account = ["account", "create", "--email", "ada@example.com", "--password-stdin"];
  await project.tidings(first, account, "correct horse battery");
  const key = await project.tidings(second, ["key", "create", "--project", "default", "--name", "CI"]);
  return { "x-api-key": key, "content-type": "application/json" };
}

describe.skipIf(noCompose !== null)("compose.yaml", () => {
  let project: Project;
  let address: string;
  beforeAll(async () => {
    await provideImages("deploy/Containerfile", /^FROM (\S+)/gm);
    const port = await freePort();
    address = `http://127.0.0.1:${port}`;
    project = composed("deploy/compose.yaml", { "127.0.0.1:4242:4242": `127.0.0.1:${port}:4242` });
    await project.run("up", "--build", "--detach", "--wait");
  }, buildMs);
  afterAll(() => project?.[Symbol.asyncDispose]());

  const inspect = async <Value>(format: string): Promise<Value> =>
    JSON.parse(
      await runProgram(
        ["docker", "inspect", "--format", `{{json ${format}}}`, await project.container("tidings")],
        root,
      ),
    ) as Value;
  const untilReady = () =>
    until(async () => (await fetch(`${address}/readyz`).catch(() => null))?.status === 200);

  test("builds the image and runs it, healthy and without rights", async () => {
    expect(await inspect(".State.Health.Status")).toBe("healthy");
    expect(await inspect(".Config.User")).toBe(`${imageUser}:${imageUser}`);
    expect(await inspect(".HostConfig.ReadonlyRootfs")).toBe(true);
    expect(await inspect(".HostConfig.CapDrop")).toEqual(["ALL"]);
    const pid = await inspect<number>(".State.Pid");
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    for (const [field, value] of [
      ["NoNewPrivs", "1"],
      ["CapEff", "0000000000000000"],
      ["CapBnd", "0000000000000000"],
    ])
      expect(status).toMatch(new RegExp(`^${field}:\\s+${value}$`, "m"));
    expect(await project.run("logs", "tidings")).toContain("setupLink");
  });

  test("after a crash it starts again, and what was acknowledged is there, also after down and up", async () => {
    const headers = await createKey(project, "tidings", "tidings");
    const send = async (name: string) => {
      const body = JSON.stringify({ channel: "orders", name });
      const { status } = await fetch(`${address}/api/events`, { method: "POST", headers, body });
      expect(status).toBe(201);
    };
    await send("first");
    process.kill(await inspect<number>(".State.Pid"), "SIGKILL");
    await until(async () => (await inspect<number>(".RestartCount")) === 1);
    await untilReady();
    await send("second");
    await project.run("down", "--timeout", "20");
    await project.run("up", "--detach", "--wait");
    await untilReady();
    const { events } = (await (await fetch(`${address}/api/events`, { headers })).json()) as {
      events: { name: string }[];
    };
    expect(events.map(({ name }) => name)).toEqual(["second", "first"]);
  }, 120_000);
});

describe.skipIf(noCompose !== null)("compose.postgres.yaml", () => {
  let project: Project;
  let address: string;
  beforeAll(async () => {
    await provideImages("deploy/Containerfile", /^FROM (\S+)/gm);
    await provideImages("deploy/compose.postgres.yaml", /^ +image: (\S+)/gm);
    const [http, https] = [await freePort(), await freePort()];
    address = `https://localhost:${https}`;
    project = composed(
      "deploy/compose.postgres.yaml",
      { "80:80": `127.0.0.1:${http}:80`, "443:443": `127.0.0.1:${https}:443` },
      // Caddy signs certificates for localhost itself.
      { SITE: "localhost", POSTGRES_PASSWORD: "a-password", TIDINGS_SECRET_KEY: "A".repeat(43) },
    );
    await project.run("up", "--build", "--detach", "--wait");
    await until(async () => (await call("/readyz").catch(() => null))?.status === 200);
  }, buildMs);
  afterAll(() => project?.[Symbol.asyncDispose]());

  const call = (path: string, init: RequestInit = {}) =>
    fetch(address + path, { ...init, tls: { rejectUnauthorized: false } });

  test("two nodes share the database, and the loss of one loses nothing", async () => {
    const headers = await createKey(project, "node1", "node2");
    const acknowledged: string[] = [];
    let isOver = false;
    const sending = (async () => {
      for (let number = 0; !isOver; number++) {
        const body = JSON.stringify({ id: Bun.randomUUIDv7(), channel: "orders", name: `Order ${number}` });
        // A client sends again what was not answered, with the same id.
        for (;;) {
          const response = await call("/api/events", { method: "POST", headers, body }).catch(() => null);
          if (response?.status === 201 || response?.status === 200) {
            acknowledged.push(((await response.json()) as { event: { id: string } }).event.id);
            break;
          }
          await Bun.sleep(100);
        }
      }
    })();
    await until(() => acknowledged.length > 20);
    await project.run("kill", "--signal", "KILL", "node1");
    const before = acknowledged.length;
    await until(() => acknowledged.length > before + 50);
    await project.run("start", "node1");
    await project.run("stop", "node2");
    const between = acknowledged.length;
    await until(() => acknowledged.length > between + 50);
    isOver = true;
    await sending;
    const text = await (await call("/api/events?format=ndjson", { headers })).text();
    const stored = text
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as { id: string }).id);
    expect(stored.toSorted()).toEqual(acknowledged.toSorted());
    console.log(`${stored.length} events while each node was away once: each stored once.`);
  }, 180_000);
});
