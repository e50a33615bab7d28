import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { S3Client } from "bun";
import type { Config } from "../config.ts";
import { createPrivateFile } from "../storage/private-file.ts";

/** Where backups are: a directory, or a bucket of an S3-compatible store. */
export type BackupStore = {
  /** For people: the directory or the bucket's address. */
  address: string;
  /** The names of the backups there, the oldest first. */
  list: () => Promise<string[]>;
  /** Stores a file under a name, completely or not at all. */
  put: (name: string, file: string) => Promise<void>;
  /** Copies a backup into a file. */
  get: (name: string, file: string) => Promise<void>;
  remove: (name: string) => Promise<void>;
};

/** Names sort by time. */
const namePattern = /^tidings-\d{8}T\d{6}Z\.db\.zst$/;

/** What a backup's name ends in until it is complete. */
const partialEnd = ".partial";
/** An incomplete backup that nothing was written to for so long is a killed command's. */
const partialDeadMs = 3_600_000;

/** The name of a backup that is made now: `tidings-20261123T014500Z.db.zst`. */
export function backupName(now: Date): string {
  return `tidings-${now.toISOString().replace(/[-:]|\.\d+/g, "")}.db.zst`;
}

export function isBackupName(name: string): boolean {
  return namePattern.test(name);
}

/** @param address - a directory, or `s3://BUCKET/PREFIX` */
export function openBackupStore(address: string, config: Config): BackupStore {
  return address.startsWith("s3://") ? bucket(address, config) : directory(address);
}

function directory(path: string): BackupStore {
  return {
    address: path,
    list: async () => (existsSync(path) ? readdirSync(path).filter(isBackupName).sort() : []),
    async put(name, file) {
      mkdirSync(path, { recursive: true, mode: 0o700 });
      removeDeadPartials(path);
      const partial = join(path, `${name}${partialEnd}`);
      createPrivateFile(partial);
      try {
        await copyFile(file, partial);
        sync(partial);
        renameSync(partial, join(path, name));
      } finally {
        rmSync(partial, { force: true });
      }
      sync(path);
    },
    get: (name, file) => copyFile(join(path, name), file),
    remove: async (name) => rmSync(join(path, name)),
  };
}

/** Removes what killed commands left: it has no name by which it would be deleted as an old backup. */
function removeDeadPartials(path: string): void {
  for (const name of readdirSync(path)) {
    const file = join(path, name);
    if (!name.endsWith(partialEnd) || !isBackupName(name.slice(0, -partialEnd.length))) continue;
    if (Date.now() - statSync(file).mtimeMs > partialDeadMs) rmSync(file, { force: true });
  }
}

function bucket(address: string, config: Config): BackupStore {
  // Not as a URL, which would encode the prefix.
  const [, hostname, path] = /^s3:\/\/([^/]+)(.*)$/.exec(address)!;
  const folder = path!.replace(/^\/|\/$/g, "");
  const prefix = folder === "" ? "" : `${folder}/`;
  const client = new S3Client({
    bucket: hostname!,
    ...(config.s3Endpoint !== null && { endpoint: config.s3Endpoint }),
    ...(config.s3Region !== null && { region: config.s3Region }),
    ...(config.s3AccessKeyId !== null && { accessKeyId: config.s3AccessKeyId }),
    ...(config.s3SecretAccessKey !== null && { secretAccessKey: config.s3SecretAccessKey }),
  });
  return {
    address: `s3://${hostname}/${prefix}`,
    async list() {
      const names: string[] = [];
      for (let startAfter: string | undefined; ; ) {
        const { contents = [], isTruncated } = await client.list({
          prefix,
          ...(startAfter !== undefined && { startAfter }),
        });
        names.push(...contents.map(({ key }) => key.slice(prefix.length)));
        startAfter = contents.at(-1)?.key;
        if (!isTruncated || startAfter === undefined) break;
      }
      return names.filter(isBackupName).sort();
    },
    // An upload becomes an object when all of it has arrived.
    async put(name, file) {
      await client.write(prefix + name, Bun.file(file));
    },
    async get(name, file) {
      await Bun.write(file, client.file(prefix + name));
    },
    remove: (name) => client.delete(prefix + name),
  };
}

function sync(path: string): void {
  const handle = openSync(path, "r");
  fsyncSync(handle);
  closeSync(handle);
}
