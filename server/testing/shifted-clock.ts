import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fromSource } from "./server-process.ts";

/** The C library's clock, moved by the seconds in a file that is mapped into memory. Monotonic clocks stay. */
const source = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
static volatile int64_t *offset;
__attribute__((constructor)) static void map_offset(void) {
  offset = mmap(0, 8, PROT_READ, MAP_SHARED, open(getenv("CLOCK_OFFSET_FILE"), O_RDONLY), 0);
}
int clock_gettime(clockid_t clock, struct timespec *time) {
  static int (*original)(clockid_t, struct timespec *);
  if (!original) original = dlsym(RTLD_NEXT, "clock_gettime");
  int result = original(clock, time);
  if (offset && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += *offset;
  return result;
}
`;

export const canShiftClock = process.platform === "linux" && Bun.which("gcc") !== null;

/** A server whose clock a test sets. */
export function shiftedClock() {
  const directory = mkdtempSync(join(tmpdir(), "tidings-clock-"));
  const library = join(directory, "clock.so");
  const file = join(directory, "offset");
  writeFileSync(join(directory, "clock.c"), source);
  const { success, stderr } = Bun.spawnSync([
    ...["gcc", "-shared", "-fPIC", "-o", library, join(directory, "clock.c"), "-ldl"],
  ]);
  if (!success) throw new Error(stderr.toString());
  writeFileSync(file, new Uint8Array(8));
  return {
    program: ["env", `LD_PRELOAD=${library}`, `CLOCK_OFFSET_FILE=${file}`, ...fromSource],
    /** Moves the clock to this many seconds from the machine's. */
    shift(seconds: number): void {
      // In place: a file that is shortened for a moment would end the process that reads it.
      const descriptor = openSync(file, "r+");
      writeSync(descriptor, new BigInt64Array([BigInt(seconds)]), 0, 8, 0);
      closeSync(descriptor);
    },
    [Symbol.dispose]: () => rmSync(directory, { recursive: true }),
  };
}
