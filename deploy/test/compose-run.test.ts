/**
 * The services of `deploy/compose.yaml` and `deploy/compose.postgres.yaml`, run by Docker Compose: health, rights,
 * commands, a crash, and data that stays; two nodes behind Caddy, of which one is lost while events arrive.
 */
// @long
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, readlinkSync } from "node:fs";
import { freePort } from "../../server/testing/postgres.ts";
import { until } from "../../server/testing/until.ts";
import { baseImages, imageUser } from "./base-images.ts";
import {
  type ComposeProject,
  composeProject,
  noCompose,
  provideForDocker,
  removeStandIns,
} from "./docker.ts";

/** npm installs as fast as the registry answers. */
const buildMs = 1_800_000;

if (noCompose !== null) console.log(`Skipped: ${noCompose}.`);
else afterAll(removeStandIns);

/** Creates the account on a node, and a key on another or the same. Returns the headers that send the key. */
async function createKey(project: ComposeProject, accountNode: string, keyNode = accountNode) {
  const account = ["account", "create", "--email", "ada@example.com", "--password-stdin"];
  await project.tidings(accountNode, account, "correct horse battery");
  const key = await project.tidings(keyNode, ["key", "create", "--project", "default", "--name", "CI"]);
  return { "x-api-key": key, "content-type": "application/json" };
}

describe.skipIf(noCompose !== null)("compose.yaml", () => {
  let project: ComposeProject;
  let address: string;
  beforeAll(async () => {
    await provideForDocker(baseImages());
    const port = await freePort();
    address = `http://127.0.0.1:${port}`;
    const ports = { "127.0.0.1:4242:4242": `127.0.0.1:${port}:4242` };
    project = await composeProject("tidings-test-sqlite", "deploy/compose.yaml", ports);
    await project.run(["up", "--build", "--detach", "--wait"]);
  }, buildMs);
  afterAll(() => project?.[Symbol.asyncDispose]());

  const inspect = <Value>(field: string) => project.inspect<Value>("tidings", field);

  /** The server's process here. A daemon on another machine has its own. */
  async function localPid(): Promise<number> {
    const pid = await inspect<number>(".State.Pid");
    expect(readlinkSync(`/proc/${pid}/exe`)).toBe("/tidings");
    return pid;
  }

  test("builds the image and runs it, healthy and without rights", async () => {
    expect(await inspect(".State.Health.Status")).toBe("healthy");
    expect(await inspect(".Config.User")).toBe(`${imageUser}:${imageUser}`);
    expect(await inspect(".HostConfig.ReadonlyRootfs")).toBe(true);
    const status = readFileSync(`/proc/${await localPid()}/status`, "utf8");
    for (const [field, value] of [
      ["NoNewPrivs", "1"],
      ["CapEff", "0000000000000000"],
      ["CapBnd", "0000000000000000"],
    ])
      expect(status).toMatch(new RegExp(`^${field}:\\s+${value}$`, "m"));
    expect(await project.run(["logs", "tidings"])).toContain("setupLink");
  });

  test("after a crash it starts again, and what was acknowledged is there, also after down and up", async () => {
    const headers = await createKey(project, "tidings");
    const send = async (name: string) => {
      const body = JSON.stringify({ channel: "orders", name });
      const { status } = await fetch(`${address}/api/events`, { method: "POST", headers, body });
      expect(status).toBe(201);
    };
    await send("first");
    process.kill(await localPid(), "SIGKILL");
    await until(async () => (await inspect<number>(".RestartCount")) === 1);
    await until(async () => (await fetch(`${address}/readyz`).catch(() => null))?.status === 200);
    await send("second");
    await project.run(["down", "--timeout", "20"]);
    await project.run(["up", "--detach", "--wait"]);
    const { events } = (await (await fetch(`${address}/api/events`, { headers })).json()) as {
      events: { name: string }[];
    };
    expect(events.map(({ name }) => name)).toEqual(["second", "first"]);
  }, 120_000);
});

describe.skipIf(noCompose !== null)("compose.postgres.yaml", () => {
  let project: ComposeProject;
  let address: string;
  beforeAll(async () => {
    const file = "deploy/compose.postgres.yaml";
    await provideForDocker([...baseImages(), ...baseImages(file, /^ +image: (\S+)/gm)]);
    const [http, https] = [await freePort(), await freePort()];
    address = `https://localhost:${https}`;
    project = await composeProject(
      "tidings-test-postgres",
      file,
      { "80:80": `127.0.0.1:${http}:80`, "443:443": `127.0.0.1:${https}:443` },
      // Caddy signs certificates for localhost itself.
      { SITE: "localhost", POSTGRES_PASSWORD: "a-password", TIDINGS_SECRET_KEY: "A".repeat(43) },
    );
    await project.run(["up", "--build", "--detach", "--wait"]);
    await until(async () => (await call("/readyz").catch(() => null))?.status === 200);
  }, buildMs);
  afterAll(() => project?.[Symbol.asyncDispose]());

  const call = (path: string, init: RequestInit = {}) =>
    fetch(address + path, { ...init, tls: { rejectUnauthorized: false } });

  /** Sends an event. Returns whether it was acknowledged; a client repeats it otherwise. */
  async function send(headers: Record<string, string>, id: string): Promise<boolean> {
    const body = JSON.stringify({ id, channel: "orders", name: "Order placed" });
    const status = await call("/api/events", { method: "POST", headers, body }).then(
      async (response) => {
        await response.arrayBuffer();
        return response.status;
      },
      () => null,
    );
    if (status !== null && status >= 400 && status < 500) throw new Error(`A POST was answered ${status}.`);
    return status === 201 || status === 200;
  }

  test("two nodes share the database, and the loss of one loses nothing", async () => {
    const headers = await createKey(project, "node1", "node2");
    const acknowledged: string[] = [];
    let isOver = false;
    const sending = (async () => {
      while (!isOver) {
        const id = Bun.randomUUIDv7();
        while (!(await send(headers, id))) {
          if (isOver) return;
          await Bun.sleep(100);
        }
        acknowledged.push(id);
      }
    })();
    try {
      await until(() => acknowledged.length > 20);
      await project.run(["kill", "node1"]);
      const before = acknowledged.length;
      await until(() => acknowledged.length > before + 50);
      await project.run(["start", "node1"]);
      await project.run(["stop", "node2"]);
      const between = acknowledged.length;
      await until(() => acknowledged.length > between + 50);
    } finally {
      isOver = true;
      await sending;
    }
    const text = await (await call("/api/events?format=ndjson", { headers })).text();
    const stored = text
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as { id: string }).id);
    expect(stored.toSorted()).toEqual(acknowledged.toSorted());
    console.log(`${stored.length} events while each node was away once: each stored once.`);
  }, 180_000);
});
