import { expect, test } from "bun:test";
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
import { readConfig } from "../config.ts";
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
