import { dlopen, ptr } from "bun:ffi";
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { until } from "./until.ts";

const megabyte = 1_048_576;

/** Whether the tests can mount disks: only on Linux, as root. */
export const canMount = tryMounting();

function tryMounting(): boolean {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return false;
  try {
    smallDisk(1)[Symbol.dispose]();
    thinDisk(1)[Symbol.dispose]();
    return true;
  } catch {
    return false;
  }
}

/** An in-memory disk of the given size. */
export function smallDisk(megabytes: number) {
  const path = mkdtempSync(join(tmpdir(), "tidings-disk-"));
  run("mount", "-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", path);
  const ballast = join(path, "ballast");
  return {
    path,
    directory: directoryIn(path),
    /** Uses up this much space, or all of it. */
    fill(megabytes = Number.POSITIVE_INFINITY): void {
      try {
        for (let n = 0; n < megabytes * 16; n++)
          writeFileSync(ballast, Buffer.alloc(megabyte / 16), { flag: "a" });
      } catch (error) {
        if ((error as { code?: string }).code !== "ENOSPC") throw error;
      }
    },
    free: () => rmSync(ballast, { force: true }),
    [Symbol.dispose](): void {
      unmount(path);
    },
  };
}

/**
 * A disk that reports 64 MB but has only `megabytes`. Once they are used up, writes that the kernel accepted are lost
 * and the next fsync fails, as on a thinly provisioned volume.
 */
export function thinDisk(megabytes: number) {
  const backing = smallDisk(megabytes);
  const image = join(backing.path, "image");
  const path = mkdtempSync(join(tmpdir(), "tidings-thin-"));
  writeFileSync(image, "");
  truncateSync(image, 64 * megabyte);
  run("mkfs.ext4", "-q", "-J", "size=1", image);
  const mount = () => run("mount", "-o", "loop,errors=remount-ro", image, path);
  try {
    mount();
  } catch (error) {
    rmSync(path, { recursive: true });
    backing[Symbol.dispose]();
    throw error;
  }
  return {
    directory: directoryIn(path),
    fill: backing.fill,
    free: backing.free,
    /** Triggers an ext4 error, which makes everything read-only, including open files. */
    makeReadOnly(): void {
      const device = basename(run("findmnt", "-no", "SOURCE", path).trim());
      writeFileSync(`/sys/fs/ext4/${device}/trigger_fs_error`, "a test");
    },
    /** Checks the file system and mounts it again, as an administrator would. */
    async repair(): Promise<void> {
      detach(path);
      await released(image);
      // Exit codes 1 and 2 mean that errors were corrected.
      Bun.spawnSync(["e2fsck", "-fy", image]);
      mount();
    },
    [Symbol.dispose](): void {
      unmount(path);
      backing[Symbol.dispose]();
    },
  };
}

/** `EXT4_IOC_SHUTDOWN`, and its flag that throws the journal's unwritten part away (Linux, fs/ext4/ext4.h). */
const shutdownRequest = 0x8004587d;
const withoutFlush = 2;

/** A disk whose power can be cut: what was written and not yet synchronized is lost. */
export function cuttableDisk(megabytes: number) {
  const backing = smallDisk(megabytes + 8);
  const image = join(backing.path, "image");
  const path = mkdtempSync(join(tmpdir(), "tidings-cut-"));
  writeFileSync(image, "");
  truncateSync(image, megabytes * megabyte);
  run("mkfs.ext4", "-q", "-J", "size=4", image);
  const mount = () => run("mount", "-o", "loop", image, path);
  mount();
  return {
    directory: directoryIn(path),
    /** From now on nothing reaches the disk, and all operations fail. */
    cutPower(): void {
      const { symbols, close } = dlopen("libc.so.6", {
        ioctl: { args: ["i32", "u64", "ptr"], returns: "i32" },
      });
      const directory = openSync(path, "r");
      const failed = symbols.ioctl(directory, shutdownRequest, ptr(new Uint32Array([withoutFlush]))) !== 0;
      closeSync(directory);
      close();
      if (failed) throw new Error("The file system could not be shut down.");
    },
    /** Mounts what is on the disk. Whoever had files open must have ended. */
    async restorePower(): Promise<void> {
      detach(path);
      await released(image);
      mount();
    },
    [Symbol.dispose](): void {
      unmount(path);
      backing[Symbol.dispose]();
    },
  };
}

function directoryIn(path: string): string {
  const directory = join(path, "data");
  if (!readdirSync(path).includes("data")) mkdirSync(directory);
  return directory;
}

/** Retries, because a process that has just ended may hold its files a little longer. */
const unmountTries = 100;
/** Longer than a test that starts processes in mount namespaces of their own. */
const releaseMsMax = 120_000;

function unmount(path: string): void {
  detach(path);
  rmSync(path, { recursive: true });
}

function detach(path: string): void {
  for (let tries = 1; !Bun.spawnSync(["umount", path]).success; tries++) {
    // What still uses it, such as a copy in another mount namespace, keeps it until it ends.
    if (tries === unmountTries) return void run("umount", "--lazy", path);
    Bun.sleepSync(50);
  }
}

/**
 * Waits until a disk image is mounted nowhere. A process that another test starts in a mount namespace of its own
 * (`unshare --mount`) has a copy of each mount. Until it ends, mounting the image again gives the same file system in
 * the state that it has: shut down or read-only.
 */
async function released(image: string): Promise<void> {
  await until(() => run("losetup", "--noheadings", "--associated", image) === "", releaseMsMax);
}

function run(...command: string[]): string {
  const { success, stdout, stderr } = Bun.spawnSync(command);
  if (!success) throw new Error(`${command.join(" ")}: ${stderr}`);
  return stdout.toString();
}
