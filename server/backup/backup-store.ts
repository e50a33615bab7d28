import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
} from "node:fs";
import { copyFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { S3Client } from "bun";
import type { Config } from "../config/config.ts";
import { createPrivateFile } from "../storage/private-file.ts";
import { explainingS3 } from "./s3-error.ts";

/** Where backups are: a directory, or a bucket of an S3-compatible store. */
export type BackupStore = {
  /** For people: the directory or the bucket's address. */
  address: string;
  /** The names of the backups there, the oldest first. */
  list: () => Promise<string[]>;
  /** The names of the folders there, which have the files of continuous backups; sorted. */
  folders: () => Promise<string[]>;
  /** The names of the files in a folder, sorted. */
  listIn: (folder: string) => Promise<string[]>;
  /**
   * Stores a file under a name, which can be `FOLDER/NAME`, completely or not at all: what is stored is read back and compared. Tries again if it
   * differs, and throws if it differs each time.
   */
  put: (name: string, file: string) => Promise<void>;
  /** Copies what is stored into a file. */
  get: (name: string, file: string) => Promise<void>;
  remove: (name: string) => Promise<void>;
};

/** How often a backup is stored that can't be read back as it was. */
const putTries = 3;

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

/** The time in the name of a backup or a generation, in milliseconds: when it was begun. */
export function timeIn(name: string): number {
  const [, year, month, day, hours, minutes, seconds] = /(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z/.exec(name)!;
  return Date.parse(`${year}-${month}-${day}T${hours}:${minutes}:${seconds}Z`);
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
    folders: async () =>
      existsSync(path)
        ? readdirSync(path, { withFileTypes: true })
            .filter((entry) => entry.isDirectory())
            .map(({ name }) => name)
            .sort()
        : [],
    listIn: async (folder) => {
      const at = join(path, folder);
      return existsSync(at)
        ? readdirSync(at)
            .filter((name) => !name.endsWith(partialEnd))
            .sort()
        : [];
    },
    async put(name, file) {
      const target = join(path, name);
      const folder = dirname(target);
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      removeDeadPartials(path);
      const partial = `${target}${partialEnd}`;
      try {
        await putVerified(partial, file, {
          async write() {
            createPrivateFile(partial);
            await copyFile(file, partial);
            sync(partial);
          },
          read: () => Bun.file(partial).stream(),
          remove: async () => rmSync(partial, { force: true }),
        });
        renameSync(partial, target);
      } finally {
        rmSync(partial, { force: true });
      }
      sync(folder);
      if (folder !== path) sync(path);
    },
    get: (name, file) => copyFile(join(path, name), file),
    async remove(name) {
      rmSync(join(path, name));
      const folder = dirname(join(path, name));
      if (folder !== path && readdirSync(folder).length === 0) rmdirSync(folder);
    },
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
  const host = config.s3Endpoint === null ? "Amazon S3" : new URL(config.s3Endpoint).host;
  const targetOf = (key: string) => ({ bucket: hostname!, key, host });

  /** The objects right below a prefix, without it, and the folders there. */
  async function listing(below: string): Promise<{ names: string[]; folders: string[] }> {
    const names: string[] = [];
    const folders = new Set<string>();
    for (let startAfter: string | undefined; ; ) {
      const {
        contents = [],
        commonPrefixes = [],
        isTruncated,
      } = await explainingS3("list", targetOf(below), () =>
        client.list({ prefix: below, delimiter: "/", ...(startAfter !== undefined && { startAfter }) }),
      );
      names.push(...contents.map(({ key }) => key.slice(below.length)));
      for (const { prefix: folder } of commonPrefixes) folders.add(folder.slice(below.length, -1));
      // A folder's own prefix comes before all that is in it: `~` ends up after that.
      const last = [contents.at(-1)?.key ?? "", ...commonPrefixes.map(({ prefix: folder }) => `${folder}~`)];
      startAfter = last.sort().at(-1);
      if (!isTruncated || !startAfter) break;
    }
    return { names: names.filter((name) => !name.includes("/")).sort(), folders: [...folders].sort() };
  }

  return {
    address: `s3://${hostname}/${prefix}`,
    list: async () => (await listing(prefix)).names.filter(isBackupName),
    folders: async () => (await listing(prefix)).folders,
    listIn: async (inFolder) => (await listing(`${prefix}${inFolder}/`)).names,
    // An upload becomes an object when all of it has arrived.
    async put(name, file) {
      const key = prefix + name;
      await putVerified(`s3://${hostname}/${key}`, file, {
        write: () => explainingS3("write", targetOf(key), () => client.write(key, Bun.file(file))),
        read: () => client.file(key).stream(),
        remove: () => client.delete(key),
        explaining: (request) => explainingS3("read", targetOf(key), request),
      });
    },
    async get(name, file) {
      const key = prefix + name;
      await explainingS3("read", targetOf(key), () => Bun.write(file, client.file(key)));
    },
    remove: (name) => explainingS3("delete", targetOf(prefix + name), () => client.delete(prefix + name)),
  };
}

type Stored = {
  write: () => Promise<unknown>;
  read: () => ReadableStream<Uint8Array>;
  remove: () => Promise<unknown>;
  /** Wraps the reading, whose failures need context. */
  explaining?: <Result>(request: () => Promise<Result>) => Promise<Result>;
};

/** Stores a file, reads back what is stored, and compares. */
async function putVerified(
  target: string,
  file: string,
  { write, read, remove, explaining = (request) => request() }: Stored,
): Promise<void> {
  const expected = await digestOf(Bun.file(file).stream());
  for (let tries = 1; ; tries++) {
    await write();
    const stored = await explaining(() => digestOf(read()));
    if (stored.sha256 === expected.sha256) return;
    // A part of a backup must not look like one.
    await remove();
    if (tries === putTries)
      throw new Error(
        `${target} had ${stored.bytes.toLocaleString("en")} of ${expected.bytes.toLocaleString("en")} bytes when it was read back, or other bytes, ${putTries} times. It was removed. Check the space and the health of that place.`,
      );
  }
}

async function digestOf(stream: ReadableStream<Uint8Array>): Promise<{ bytes: number; sha256: string }> {
  const hash = new Bun.CryptoHasher("sha256");
  let bytes = 0;
  for await (const chunk of stream) {
    hash.update(chunk);
    bytes += chunk.byteLength;
  }
  return { bytes, sha256: hash.digest("hex") };
}

function sync(path: string): void {
  const handle = openSync(path, "r");
  fsyncSync(handle);
  closeSync(handle);
}
