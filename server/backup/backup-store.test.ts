import { afterAll, describe, expect, test } from "bun:test";
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readConfig } from "../config/config.ts";
import { backupName, openBackupStore } from "./backup-store.ts";

test("a backup follows no link that somebody left in its directory, and only its owner can read it", async () => {
  const directory = mkdtempSync(join(tmpdir(), "tidings-backups-"));
  try {
    const [place, victim, file] = ["backups", "victim", "file"].map((name) => join(directory, name)) as [
      string,
      string,
      string,
    ];
    writeFileSync(victim, "kept");
    writeFileSync(file, "first", { mode: 0o600 });
    const store = openBackupStore(place, readConfig({}));
    const [first, second] = [backupName(new Date(0)), backupName(new Date(1_000))];
    await store.put(first, file);
    symlinkSync(victim, join(place, `${second}.partial`));
    writeFileSync(file, "second");
    await store.put(second, file);
    expect(readFileSync(victim, "utf8")).toBe("kept");
    expect(readFileSync(join(place, second), "utf8")).toBe("second");
    expect(readdirSync(place).sort()).toEqual([first, second]);
    for (const name of [first, second]) expect(statSync(join(place, name)).mode & 0o777).toBe(0o600);
    expect(statSync(place).mode & 0o777).toBe(0o700);
  } finally {
    rmSync(directory, { recursive: true });
  }
});

describe("a store that speaks S3", () => {
  const objects = new Map<string, Uint8Array>();
  /** Uploads of which the store keeps only half, though it answers 200. */
  let halved = 0;
  let refusal: { status: number; code: string } | null = null;
  let uploads = 0;
  const service = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const { pathname } = new URL(request.url);
      if (refusal)
        return new Response(`<Error><Code>${refusal.code}</Code><Message>No.</Message></Error>`, {
          status: refusal.status,
        });
      if (request.method === "PUT") {
        uploads++;
        const bytes = await request.bytes();
        objects.set(pathname, halved-- > 0 ? bytes.slice(0, bytes.length / 2) : bytes);
        return new Response(null, { headers: { etag: '"a"' } });
      }
      if (request.method === "DELETE") {
        objects.delete(pathname);
        return new Response(null, { status: 204 });
      }
      const object = objects.get(pathname);
      return object ? new Response(object.slice()) : new Response(null, { status: 404 });
    },
  });
  const directory = mkdtempSync(join(tmpdir(), "tidings-s3-"));
  const file = join(directory, "archive");
  writeFileSync(file, new Uint8Array(100_000).fill(7));
  const name = backupName(new Date(0));
  const store = openBackupStore(
    "s3://backups/tidings",
    readConfig({
      TIDINGS_S3_ENDPOINT: service.url.origin,
      TIDINGS_S3_REGION: "us-east-1",
      TIDINGS_S3_ACCESS_KEY_ID: "a",
      TIDINGS_S3_SECRET_ACCESS_KEY: "b",
    }),
  );
  afterAll(async () => {
    await service.stop(true);
    rmSync(directory, { recursive: true });
  });

  test("and halves an object gets it again, and a backup that stays halved fails and is removed", async () => {
    halved = 1;
    await store.put(name, file);
    expect(uploads).toBe(2);
    expect([...objects.values()].map((bytes) => bytes.length)).toEqual([100_000]);
    halved = 10;
    await expect(store.put(name, file)).rejects.toThrow(
      `s3://backups/tidings/${name} had 50,000 of 100,000 bytes when it was read back`,
    );
    expect(objects.size).toBe(0);
    halved = 0;
  });

  test("and refuses is reported with bucket, key, host, code and what to check", async () => {
    refusal = { status: 403, code: "AccessDenied" };
    await expect(store.put(name, file)).rejects.toThrow(
      `Can't write s3://backups/tidings/${name} at ${service.url.host}: No (AccessDenied). The access key needs the permissions`,
    );
    refusal = { status: 403, code: "SignatureDoesNotMatch" };
    await expect(store.list()).rejects.toThrow("(SignatureDoesNotMatch). Check TIDINGS_S3_ACCESS_KEY_ID");
    refusal = { status: 404, code: "NoSuchBucket" };
    await expect(store.get(name, join(directory, "restored"))).rejects.toThrow(
      `Can't read s3://backups/tidings/${name} at ${service.url.host}: No (NoSuchBucket). Create the bucket`,
    );
    refusal = null;
  });
});
