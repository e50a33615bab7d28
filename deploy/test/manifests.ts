/** Manifests of Kubernetes in the tests: read, and checked against the schemas that Kubernetes publishes. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { validate as deployment } from "kubernetes-models/_schemas/IoK8sApiAppsV1Deployment";
import { validate as statefulSet } from "kubernetes-models/_schemas/IoK8sApiAppsV1StatefulSet";
import { validate as job } from "kubernetes-models/_schemas/IoK8sApiBatchV1Job";
import { validate as service } from "kubernetes-models/_schemas/IoK8sApiCoreV1Service";
import { validate as ingress } from "kubernetes-models/_schemas/IoK8sApiNetworkingV1Ingress";
import { validate as disruptions } from "kubernetes-models/_schemas/IoK8sApiPolicyV1PodDisruptionBudget";
import { root } from "./folders.ts";

export type Manifest = { apiVersion: string; kind: string; metadata: { name: string } };
export type Workload = Manifest & {
  spec: {
    template: { metadata: { labels: object }; spec: PodSpec };
    volumeClaimTemplates?: { spec: object }[];
  };
};
type Container = { image: string; env: { name: string; value?: string }[]; securityContext: object };
type PodSpec = { containers: Container[] } & Record<string, unknown>;

type Validate = ((manifest: unknown) => boolean) & { errors?: unknown };
const schemas: Record<string, Validate> = {
  "apps/v1 Deployment": deployment,
  "apps/v1 StatefulSet": statefulSet,
  "batch/v1 Job": job,
  "networking.k8s.io/v1 Ingress": ingress,
  "policy/v1 PodDisruptionBudget": disruptions,
  "v1 Service": service,
};

export function readManifests(path: string): Manifest[] {
  return parseManifests(readFileSync(join(root, path), "utf8"));
}

export function parseManifests(text: string): Manifest[] {
  return text
    .split(/^---$/m)
    .map((document) => Bun.YAML.parse(document) as Manifest | null)
    .filter((manifest) => manifest !== null);
}

/** Throws if the manifest has a field that its kind hasn't, lacks one, or has a value of another type. */
export function checkManifest(manifest: Manifest): void {
  const kind = `${manifest.apiVersion} ${manifest.kind}`;
  const validate = schemas[kind];
  if (!validate) throw new Error(`Add the schema of ${kind} to deploy/test/manifests.ts.`);
  const unread = new Set<string>();
  if (!validate(watchReads(manifest, kind, unread)))
    throw new Error(`${kind}: ${JSON.stringify(validate.errors)}`);
  if (unread.size > 0) throw new Error(`There is no field ${[...unread].join(", ")}`);
}

/**
 * The schemas of Kubernetes allow fields that they don't know. They read all that they know, so a field that is not read
 * is unknown.
 *
 * @param unread - has the paths of fields until they are read
 */
function watchReads<T extends object>(value: T, path: string, unread: Set<string>): T {
  for (const key of Object.keys(value)) unread.add(`${path}.${key}`);
  return new Proxy(value, {
    get(target, key) {
      unread.delete(`${path}.${String(key)}`);
      const child: unknown = Reflect.get(target, key);
      const isWatched = typeof child === "object" && child !== null;
      return isWatched ? watchReads(child, `${path}.${String(key)}`, unread) : child;
    },
  });
}
