/**
 * The image that `deploy/Containerfile` builds: what is in it, that it runs without any right, stops in time and loses
 * nothing, and what it says about a volume that it can't use. `npm run test:deploy` installs what this needs.
 */
// @long
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, chownSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { version } from "../../server/config/config.ts";
import { testSecretKey } from "../../server/testing/engine.ts";
import { freePort } from "../../server/testing/postgres.ts";
import { until } from "../../server/testing/until.ts";
import { imageUser } from "./base-images.ts";
import { root } from "./folders.ts";
import { type Manifest, readManifests, type Workload } from "./manifests.ts";
import { buildImage, labelOf, noContainers, podman, removeContainers, tryPodman } from "./podman.ts";

const image = "localhost/tidings:test";
const pod = "tidings-test";
const namedVolume = "tidings-test";
const claim = "tidings-test-claim";
/** Docker and Kubernetes give a container 10 and 30 seconds after SIGTERM. */
const stopMs = 10_000;
/** The executable takes 128 MB, and the base image about 25. */
const imageBytesMax = 200e6;

/** The service of `deploy/compose.yaml`. */
const service = (
  Bun.YAML.parse(readFileSync(join(root, "deploy/compose.yaml"), "utf8")) as {
    services: {
      tidings: {
        volumes: [string];
        cap_drop: string[];
        security_opt: string[];
        read_only: boolean;
      };
    };
  }
).services.tidings;

if (noContainers !== null) console.log(`Skipped: ${noContainers}.`);

describe.skipIf(noContainers !== null)("the image", () => {
  let directory: string;
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), "tidings-image-"));
    chmodSync(directory, 0o755);
    await removeAll();
    await buildImage(image);
    // npm installs as fast as the registry answers.
  }, 1_800_000);
  afterAll(async () => {
    await removeAll();
    rmSync(directory, { recursive: true, force: true });
  });

  async function removeAll(): Promise<void> {
    await tryPodman(["pod", "rm", "--force", "--time", "0", pod]);
    await removeContainers("image");
    await tryPodman(["volume", "rm", "--force", namedVolume, claim]);
  }

  /** A new directory to mount, of the image's user. */
  function ownDirectory(): string {
    const path = mkdtempSync(join(directory, "data-"));
    chownSync(path, imageUser, imageUser);
    return path;
  }

  let containers = 0;
  /** Starts a container with the rights of `deploy/compose.yaml`, and returns when the server in it is ready. */
  async function start(mounted: string, variables: Record<string, string> = {}) {
    const name = `tidings-${++containers}`;
    const port = await freePort();
    const startedAt = performance.now();
    await podman(
      ...[
        "run",
        "--detach",
        labelOf("image"),
        "--name",
        name,
        "--network",
        "host",
        "--volume",
        service.volumes[0].replace(/^\w+/, mounted),
      ],
      `--read-only=${service.read_only}`,
      ...service.cap_drop.map((name) => `--cap-drop=${name}`),
      ...service.security_opt.map((option) => `--security-opt=${option}`),
      ...Object.entries({
        HOST: "127.0.0.1",
        PORT: `${port}`,
        ...variables,
      }).map(([variable, value]) => `--env=${variable}=${value}`),
      image,
    );
    const address = `http://127.0.0.1:${port}`;
    await until(async () => {
      const { stderr } = await tryPodman(["logs", name]);
      if (stderr.includes("can't start")) throw new Error(stderr);
      return (await fetch(`${address}/readyz`).catch(() => null))?.status === 200;
    });
    const startMs = performance.now() - startedAt;
    return {
      address,
      startMs,
      run: (args: string[], stdin = "") =>
        tryPodman(["exec", "--interactive", name, "/tidings", ...args], stdin),
      /** Runs `podman healthcheck run`. */
      checkHealth: () => tryPodman(["healthcheck", "run", name]),
      /** Sends SIGTERM, waits, and returns how the server ended. */
      async stop() {
        const stoppedAt = performance.now();
        await podman("stop", "--time", `${stopMs / 1_000}`, name);
        const ms = performance.now() - stoppedAt;
        const code = (await podman("inspect", "--format", "{{.State.ExitCode}}", name)).trim();
        return { ms, code: Number(code) };
      },
      kill: () => podman("kill", "--signal", "KILL", name),
    };
  }
  type Container = Awaited<ReturnType<typeof start>>;

  async function createKey({ run }: Container): Promise<Record<string, string>> {
    const account = ["account", "create", "--email", "ada@example.com", "--password-stdin"];
    expect(await run(account, "correct horse battery")).toMatchObject({ code: 0 });
    const { code, stdout, stderr } = await run(["key", "create", "--project", "default", "--name", "CI"]);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    return { "x-api-key": stdout.trim(), "content-type": "application/json" };
  }

  /** Sends events until the server is gone, and returns the ids of those that it acknowledged. */
  async function sendUntilGone({ address }: Container, headers: Record<string, string>): Promise<string[]> {
    const acknowledged: string[] = [];
    const send = async () => {
      for (;;) {
        const body = JSON.stringify({ channel: "load", name: "Sent" });
        const response = await fetch(`${address}/api/events`, { method: "POST", headers, body }).catch(
          () => null,
        );
        if (response?.status !== 201) return;
        acknowledged.push(((await response.json()) as { event: { id: string } }).event.id);
      }
    };
    await Promise.all(Array.from({ length: 8 }, send));
    return acknowledged;
  }

  async function listIds({ address }: Container, headers: Record<string, string>): Promise<Set<string>> {
    const response = await fetch(`${address}/api/events?format=ndjson`, { headers });
    const lines = (await response.text()).trim().split("\n");
    return new Set(lines.map((line) => (JSON.parse(line) as { id: string }).id));
  }

  test("contains the executable and a data directory of its user, and says what it is", async () => {
    const [config] = JSON.parse(await podman("image", "inspect", image));
    expect(config.Config).toMatchObject({
      User: `${imageUser}:${imageUser}`,
      Entrypoint: ["/tidings"],
      Volumes: { "/data": {} },
      ExposedPorts: { "4242/tcp": {} },
    });
    expect(config.Healthcheck.Test).toEqual(["CMD", "/tidings", "healthcheck"]);
    expect(config.Config.Labels["org.opencontainers.image.title"]).toBe("Tidings");
    console.log(`The image has ${(config.Size / 1e6).toFixed(0)} MB.`);
    expect(config.Size).toBeLessThan(imageBytesMax);
    const archive = join(directory, "image.tar");
    const name = (await podman("create", labelOf("image"), image)).trim();
    await podman("export", "--output", archive, name);
    const { stdout } = Bun.spawnSync(["tar", "-tvf", archive, "--numeric-owner"]);
    const lines = stdout.toString().split("\n");
    const own = lines.filter((line) => / (?:tidings|data\/?.*)$/.test(line));
    expect(own.map((line) => line.split(/\s+/, 2))).toEqual([
      ["drwxr-xr-x", `${imageUser}/${imageUser}`],
      ["-rwxr-xr-x", "0/0"],
    ]);
    // No program but ours, and nothing of the repository.
    expect(lines.filter((line) => /\/(?:sh|bash|node|npm|bun)$|\.ts$|package\.json$/.test(line))).toEqual([]);
    rmSync(archive);
  });

  test("runs without rights on a read-only system, is healthy, and runs commands", async () => {
    const server = await start(ownDirectory());
    console.log(`Ready ${server.startMs.toFixed(0)} ms after podman run, on a new volume.`);
    expect((await server.checkHealth()).code).toBe(0);
    expect((await server.run(["--version"])).stdout).toStartWith(version);
    const headers = await createKey(server);
    const body = JSON.stringify({ channel: "orders", name: "Order placed", notify: true });
    const posted = await fetch(`${server.address}/api/events`, { method: "POST", headers, body });
    expect(posted.status).toBe(201);
    const page = await fetch(server.address, { headers: { accept: "text/html" } });
    expect(await page.text()).toContain("<title>");
    // It warns of what this machine can't reach, and then ends with 1.
    const diagnosis = (await server.run(["doctor"])).stdout;
    expect(diagnosis).toContain("ok   database file: No fault found.");
    expect(diagnosis).not.toContain("FAIL");
    for (const args of [
      ["backup", "--to", "/data/backups"],
      ["project", "list"],
    ]) {
      const { code, stdout, stderr } = await server.run(args);
      expect({ args, code, stdout, stderr }).toMatchObject({ code: 0 });
    }
    const { ms, code } = await server.stop();
    console.log(`Stopped in ${ms.toFixed(0)} ms.`);
    expect(code).toBe(0);
    expect((await server.checkHealth()).code).not.toBe(0);
  });

  test.each(["stop", "kill"] as const)("loses nothing that it acknowledged: %s under load", async (end) => {
    const volume = ownDirectory();
    let server = await start(volume);
    const headers = await createKey(server);
    const sending = sendUntilGone(server, headers);
    await Bun.sleep(1_000);
    if (end === "stop") {
      const { ms, code } = await server.stop();
      console.log(`Stopped under load in ${ms.toFixed(0)} ms.`);
      expect(code).toBe(0);
    } else await server.kill();
    const acknowledged = await sending;
    expect(acknowledged.length).toBeGreaterThan(10);
    server = await start(volume);
    const stored = await listIds(server, headers);
    expect(acknowledged.filter((id) => !stored.has(id))).toEqual([]);
    console.log(`${acknowledged.length} events acknowledged, none lost.`);
    await server.stop();
  });

  test("upgrades the data of the first release, and goes back", async () => {
    const volume = ownDirectory();
    const released = readFileSync(join(root, "server/testing/released/schema-1.db.gz"));
    const file = join(volume, "tidings.db");
    writeFileSync(file, Bun.gunzipSync(released), { mode: 0o600 });
    chownSync(file, imageUser, imageUser);
    const server = await start(volume, { TIDINGS_SECRET_KEY: testSecretKey });
    // The key and the events of server/storage/upgrade.test.ts.
    const headers = { "x-api-key": "tdg_sk_OzIXnT3tLYXuSCFFtTosxXJKK3vQOn2agrOh" };
    expect((await listIds(server, headers)).size).toBe(301);
    await server.stop();
    const back = await tryPodman([
      "run",
      "--rm",
      "--network",
      "none",
      "--volume",
      `${volume}:/data`,
      image,
      "rollback",
    ]);
    expect(back).toMatchObject({ code: 0 });
  });

  const hasPause = Bun.which("catatonit") !== null || existsSync("/usr/libexec/podman/catatonit");
  if (!hasPause) console.log("Skipped: the pod of the manifest is not run, because catatonit is missing.");
  test.skipIf(!hasPause)("runs in the pod of the manifest for Kubernetes", async () => {
    const port = await freePort();
    const [, statefulSet] = readManifests("deploy/kubernetes/sqlite.yaml") as [Manifest, Workload];
    const { template, volumeClaimTemplates } = statefulSet.spec;
    const { spec } = structuredClone(template);
    const [container] = spec.containers as [Workload["spec"]["template"]["spec"]["containers"][0]];
    container.image = image;
    // Podman forwards ports only from networks that it makes.
    delete (container as { ports?: object }).ports;
    container.env.push({ name: "HOST", value: "127.0.0.1" }, { name: "PORT", value: `${port}` });
    const [requested] = volumeClaimTemplates!;
    const documents = [
      {
        apiVersion: "v1",
        kind: "PersistentVolumeClaim",
        metadata: { name: claim },
        spec: requested!.spec,
      },
      {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: pod },
        spec: {
          ...spec,
          hostNetwork: true,
          volumes: [{ name: "data", persistentVolumeClaim: { claimName: claim } }],
        },
      },
    ];
    const file = join(directory, "pod.yaml");
    writeFileSync(file, documents.map((document) => JSON.stringify(document)).join("\n---\n"));
    await podman("play", "kube", file);
    await until(
      async () => (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null))?.status === 200,
    );
    await podman("play", "kube", "--down", file);
  });

  test("owns a new volume, and says how to give it one that is root's", async () => {
    const server = await start(namedVolume);
    await server.stop();

    const ofRoot = mkdtempSync(join(directory, "root-"));
    const refused = await tryPodman([
      "run",
      "--rm",
      "--network",
      "none",
      "--volume",
      `${ofRoot}:/data`,
      image,
    ]);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain(
      `user ${imageUser} may not read and write /data, which belongs to user 0 and group 0, with mode 700. As root, run "chown -R ${imageUser}:${imageUser} /data"`,
    );
  });
});
