/**
 * A fresh clone in a bare Debian that has Node 20 and npm and nothing else: the README's commands. `npm run test:deploy`
 * installs what this needs.
 */
// @long
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runProgram } from "../../clients/testing/programs.ts";
import { version } from "../../server/config/config.ts";
import { freePort } from "../../server/testing/postgres.ts";
import { until } from "../../server/testing/until.ts";
import { root } from "./folders.ts";
import { labelOf, noContainers, podman, provideBase, removeContainers, tryPodman } from "./podman.ts";

/** npm installs as fast as the registry answers. */
const installMs = 900_000;

if (noContainers !== null) console.log(`Skipped: ${noContainers}.`);

describe.skipIf(noContainers !== null)("in a fresh clone", () => {
  let clone: string;
  let image: string;
  beforeAll(async () => {
    await removeContainers("clone");
    image = await provideBase("node:20-slim");
    clone = mkdtempSync(join(tmpdir(), "tidings-clone-"));
    await runProgram(["git", "clone", "--quiet", "--depth", "1", `file://${root}`, clone], root);
  }, installMs);
  afterAll(async () => {
    await removeContainers("clone");
    if (clone) rmSync(clone, { recursive: true });
  });

  const inClone = (path = clone) => [
    ...[labelOf("clone"), "--network", "host", "--volume", `${path}:/tidings`, "--workdir", "/tidings"],
    ...["--volume", "/etc/ssl/certs:/etc/ssl/certs:ro"],
  ];

  test(
    "npm start installs, builds and serves",
    async () => {
      const port = await freePort();
      const startedAt = performance.now();
      const settings = ["--env", "HOST=127.0.0.1", "--env", `PORT=${port}`];
      await podman("run", "--detach", "--name", "start", ...inClone(), ...settings, image, "npm", "start");
      await until(async () => {
        const state = await podman("inspect", "--format", "{{.State.Running}}", "start");
        if (state.trim() !== "true") throw new Error(JSON.stringify(await tryPodman(["logs", "start"])));
        return (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null))?.status === 200;
      }, installMs);
      console.log(`npm start took ${((performance.now() - startedAt) / 1_000).toFixed(0)} s.`);
      const page = await fetch(`http://127.0.0.1:${port}`, { headers: { accept: "text/html" } });
      expect(await page.text()).toContain("<title>");
      expect((await tryPodman(["logs", "start"])).stdout).toContain("setupLink");
      await podman("stop", "--time", "20", "start");
      expect((await tryPodman(["logs", "start"])).stdout).toContain('"msg":"stopped"');
    },
    installMs,
  );

  test(
    "npm test installs what the tests need, and runs them",
    async () => {
      const run = await tryPodman([
        ...["run", "--rm", ...inClone(), image],
        // All of them would take as long as the rest of this folder together.
        ...["npm", "test", "--", "server/events/list.test.ts"],
      ]);
      expect(run).toMatchObject({ code: 0 });
      expect(run.stdout).toMatch(/\n[1-9]\d* passed, 0 failed\n$/);
    },
    installMs,
  );

  test(
    "npm run release builds what is published",
    async () => {
      const own = mkdtempSync(join(tmpdir(), "tidings-clone-"));
      try {
        // Without what the other tests have installed.
        await runProgram(["git", "clone", "--quiet", "--depth", "1", `file://${root}`, own], root);
        const command = ["npm", "run", "release", "--", "artifacts", "bun-linux-x64"];
        const run = await tryPodman(["run", "--rm", ...inClone(own), image, ...command]);
        expect(run).toMatchObject({ code: 0 });
        const folder = join(own, "build/release");
        const checked = await runProgram(["sha256sum", "--check", "SHA256SUMS"], folder);
        for (const name of [
          "tidings-linux-x64.gz",
          `tidings-${version}.tgz`,
          "install.sh",
          "tidings.cdx.json",
        ])
          expect(checked).toContain(`${name}: OK`);
      } finally {
        rmSync(own, { recursive: true });
      }
    },
    installMs,
  );
});
