import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Kysely, Transaction } from "kysely";
import { isSecretKey } from "../config/values.ts";
import type { ControlTables } from "./control-tables.ts";
import { giveToOwner, keepPrivate } from "./private-file.ts";
import { generateSecretKey, SecretBox } from "./secret-box.ts";
import { withLock } from "./settings.ts";

/** The setting with a sealed value that only the installation's key opens. */
export const checkSetting = "secretKeyCheck";

type Place = {
  /** `TIDINGS_SECRET_KEY`, if it is set. */
  secretKey: string | null;
  dataDirectory: string;
};

/** The file with the key, unless `TIDINGS_SECRET_KEY` is set. */
export function secretKeyFile(dataDirectory: string): string {
  return join(dataDirectory, "secret.key");
}

/**
 * Opens the box for the database's secrets: with `TIDINGS_SECRET_KEY`, or else with `secret.key` in the data directory,
 * which is created for a new database. Throws an error for the operator if the database's secrets have another key.
 */
export async function openSecretBox(place: Place, control: Kysely<ControlTables>): Promise<SecretBox> {
  const check = await readCheck(control);
  if (check !== null) return boxFor(place, check);
  const file = secretKeyFile(place.dataDirectory);
  const box = new SecretBox(place.secretKey ?? readKeyFile(file) ?? createKeyFile(file));
  // When several nodes start, another one can be faster, with another key.
  return boxFor(place, await sealAll(control, box));
}

/** The box of the key that opens the check. Throws an error for the operator if there is no such key. */
export function boxFor({ secretKey, dataDirectory }: Place, check: string): SecretBox {
  const file = secretKeyFile(dataDirectory);
  const key = secretKey ?? readKeyFile(file);
  const shouldBe =
    "Set TIDINGS_SECRET_KEY to the key that the database was used with, or put its secret.key there. All nodes share one key. If the key is lost, see docs/secrets.md.";
  if (key === null) throw new Error(`${file} is missing, and the database has secrets. ${shouldBe}`);
  const box = new SecretBox(key);
  try {
    box.open(check, checkSetting);
  } catch {
    const source = secretKey === null ? file : "TIDINGS_SECRET_KEY";
    throw new Error(`The database's secrets are encrypted with another key than ${source}. ${shouldBe}`);
  }
  return box;
}

/** Reads the sealed check of the database's key; null if the database has no secrets. */
export async function readCheck(control: Kysely<ControlTables>): Promise<string | null> {
  const query = control.selectFrom("settings").select("value").where("name", "=", checkSetting);
  return (await query.executeTakeFirst())?.value ?? null;
}

/**
 * Seals secrets that earlier versions stored in clear, and the check. If several nodes start, the first one does it.
 */
function sealAll(control: Kysely<ControlTables>, box: SecretBox): Promise<string> {
  return control.transaction().execute(async (transaction) => {
    await withLock(transaction, checkSetting);
    const known = await readCheck(transaction);
    if (known !== null) return known;
    await sealStored(transaction, box);
    const value = box.seal("", checkSetting);
    await transaction.insertInto("settings").values({ name: checkSetting, value }).execute();
    return value;
  });
}

async function sealStored(transaction: Transaction<ControlTables>, box: SecretBox): Promise<void> {
  const settings = await transaction
    .selectFrom("settings")
    .selectAll()
    .where("name", "in", ["authSecret", "vapid"])
    .execute();
  for (const { name, value } of settings) {
    await transaction
      .updateTable("settings")
      .set({ value: box.seal(value, name) })
      .where("name", "=", name)
      .execute();
  }
  const destinations = await transaction
    .selectFrom("destinations")
    .select(["id", "address", "settings"])
    .where("settings", "not like", "v1.%")
    .execute();
  for (const { id, address, settings } of destinations) {
    await transaction
      .updateTable("destinations")
      .set({ settings: box.seal(settings!, destinationPurpose({ id, address })) })
      .where("id", "=", id)
      .execute();
  }
}

/** The purpose for which a destination's settings are sealed. */
export function destinationPurpose({ id, address }: { id: string; address: string | null }): string {
  return `destination ${address ?? id}`;
}

/** The key in a file; null if there is no file. Throws if it is no key, or can't be read. */
export function readKeyFile(file: string): string | null {
  let key: string;
  try {
    key = readFileSync(file, "utf8").trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
  if (!isSecretKey(key)) throw new Error(`${file} must be 32 bytes in base64. Restore it from a backup.`);
  keepPrivate(file);
  return key;
}

function createKeyFile(file: string): string {
  const key = generateSecretKey();
  try {
    mkdirSync(join(file, ".."), { recursive: true, mode: 0o700 });
    // "wx" fails if another process was faster.
    const descriptor = openSync(file, "wx", 0o600);
    writeFileSync(descriptor, `${key}\n`);
    fsyncSync(descriptor);
    closeSync(descriptor);
    giveToOwner(file);
  } catch (error) {
    const known = (error as NodeJS.ErrnoException).code === "EEXIST" ? readKeyFile(file) : null;
    if (known !== null) return known;
    throw new Error(
      `${file} can't be created (${(error as Error).message}). Set TIDINGS_SECRET_KEY instead.`,
    );
  }
  return key;
}
