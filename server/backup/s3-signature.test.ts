import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import aws4 from "aws4";
import { readConfig } from "../config/config.ts";
import { openBackupStore } from "./backup-store.ts";

const credentials = {
  accessKeyId: "AKIDEXAMPLE",
  secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
};
const region = "eu-central-1";

/** The Authorization header that the request should have: AWS Signature Version 4, by another implementation. */
function expectedAuthorization(request: Request, body: Uint8Array): string {
  const { host, pathname, search } = new URL(request.url);
  const names =
    /SignedHeaders=([^,]+)/.exec(request.headers.get("authorization") ?? "")?.[1]?.split(";") ?? [];
  const headers = Object.fromEntries(names.map((name) => [name, request.headers.get(name) ?? ""]));
  const hash = createHash("sha256").update(body).digest("hex");
  // A store refuses a body with another hash, unless the client says that it signs none.
  expect([hash, "UNSIGNED-PAYLOAD"]).toContain(request.headers.get("x-amz-content-sha256")!);
  const signed = aws4.sign(
    { host, method: request.method, path: pathname + search, service: "s3", region, headers },
    credentials,
  );
  return String(signed.headers!.Authorization);
}

test("requests to S3 have a valid signature, and what is stored comes back", async () => {
  const objects = new Map<string, Uint8Array>();
  const seen = new Set<string>();
  const differing: string[] = [];
  using store = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const body = new Uint8Array(await request.arrayBuffer());
      const expected = expectedAuthorization(request, body);
      const { pathname, searchParams } = new URL(request.url);
      seen.add(request.method);
      // Spaces after commas have no meaning.
      const plain = (text: string) => text.replaceAll(", ", ",");
      if (plain(request.headers.get("authorization") ?? "") !== plain(expected)) {
        differing.push(
          `${request.method} ${request.url}: ${request.headers.get("authorization")} is not ${expected}`,
        );
        return new Response("<Error><Code>SignatureDoesNotMatch</Code></Error>", { status: 403 });
      }
      const key = decodeURIComponent(pathname);
      if (request.method === "PUT") objects.set(key, body);
      else if (request.method === "DELETE") objects.delete(key);
      else if (searchParams.get("list-type") === "2") return listing([...objects.keys()]);
      else return new Response(new Uint8Array(objects.get(key)!));
      return new Response(null, { status: request.method === "DELETE" ? 204 : 200 });
    },
  });
  const directory = mkdtempSync(join(tmpdir(), "tidings-s3-"));
  const config = readConfig({
    TIDINGS_S3_ENDPOINT: `http://127.0.0.1:${store.port}`,
    TIDINGS_S3_REGION: region,
    TIDINGS_S3_ACCESS_KEY_ID: credentials.accessKeyId,
    TIDINGS_S3_SECRET_ACCESS_KEY: credentials.secretAccessKey,
  });
  const place = openBackupStore("s3://backups/a place+über 100%", config);
  const name = "tidings-20261123T014500Z.db.zst";
  const file = join(directory, "file");
  writeFileSync(file, "compressed");
  await place.put(name, file);
  expect([...objects.keys()]).toEqual([`/backups/a place+über 100%/${name}`]);
  expect(await place.list()).toEqual([name]);
  await place.get(name, join(directory, "copy"));
  expect(readFileSync(join(directory, "copy"), "utf8")).toBe("compressed");
  await place.remove(name);
  expect(differing).toEqual([]);
  expect([...seen].sort()).toEqual(["DELETE", "GET", "PUT"]);
  expect(objects.size).toBe(0);
  const wrong = openBackupStore("s3://backups/", { ...config, s3SecretAccessKey: "another" });
  await expect(wrong.put(name, file)).rejects.toThrow();
  rmSync(directory, { recursive: true });
});

/** ListObjectsV2's response. */
function listing(paths: string[]): Response {
  const contents = paths.map((path) => `<Contents><Key>${path.slice("/backups/".length)}</Key></Contents>`);
  return new Response(
    `<?xml version="1.0"?><ListBucketResult><IsTruncated>false</IsTruncated>${contents.join("")}</ListBucketResult>`,
    { headers: { "content-type": "application/xml" } },
  );
}
