import { describe, expect, test } from "bun:test";
import { checkManifest, type Manifest, readManifests, type Workload } from "./manifests.ts";

describe.each(["sqlite", "postgres"])("the manifest for %s", (engine) => {
  const manifests = readManifests(`deploy/kubernetes/${engine}.yaml`);
  const workload = manifests.find(({ kind }) => /StatefulSet|Deployment/.test(kind)) as Workload;
  const { spec } = workload.spec.template;

  test("has the schemas of Kubernetes", () => {
    for (const manifest of manifests) checkManifest(manifest);
  });

  test("runs as the image's user, without rights, and asks the server for its health", () => {
    expect(spec).toMatchObject({
      automountServiceAccountToken: false,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: 65532,
        fsGroup: 65532,
        seccompProfile: { type: "RuntimeDefault" },
      },
      containers: [
        {
          securityContext: {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ["ALL"] },
          },
          livenessProbe: { httpGet: { path: "/healthz", port: "http" } },
          readinessProbe: { httpGet: { path: "/readyz", port: "http" } },
        },
      ],
    });
  });

  test("selects its own pods", () => {
    const { labels } = workload.spec.template.metadata;
    for (const manifest of manifests as (Manifest & { spec: { selector: { matchLabels?: object } } })[])
      expect(manifest.spec.selector.matchLabels ?? manifest.spec.selector).toEqual(labels);
  });
});

test("the Job that restores has the schema of Kubernetes, and runs like the server", () => {
  const [job] = readManifests("deploy/kubernetes/restore.yaml") as [Workload];
  checkManifest(job);
  const [, server] = readManifests("deploy/kubernetes/sqlite.yaml") as [Manifest, Workload];
  expect(job.spec.template.spec.securityContext).toEqual(server.spec.template.spec.securityContext);
  const rights = ({ spec }: Workload) =>
    spec.template.spec.containers.map(({ securityContext }) => securityContext);
  expect(rights(job)).toEqual(rights(server));
});

test("a field that Kubernetes doesn't have is found, and a value of another type", () => {
  const [service] = readManifests("deploy/kubernetes/sqlite.yaml") as [Manifest & { spec: object }];
  const changed = (more: object) => () =>
    checkManifest({ ...service, spec: { ...service.spec, ...more } } as Manifest);
  expect(changed({ port: 80 })).toThrow("There is no field v1 Service.spec.port");
  expect(changed({ ports: [{ name: "http", targetport: 80, port: 80 }] })).toThrow("spec.ports.0.targetport");
  expect(changed({ ports: [{ name: "http", port: "http" }] })).toThrow("/spec/ports/0/port");
});
