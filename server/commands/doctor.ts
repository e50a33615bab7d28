import { existsSync } from "node:fs";
import { defineCommand } from "citty";
import { type Config, inspectConfig, version } from "../config/config.ts";
import { checkBackup } from "../doctor/check-backup.ts";
import { checkDatabase, checkUnwritableKey, fixDatabase } from "../doctor/check-database.ts";
import { checkLeftovers } from "../doctor/check-leftovers.ts";
import {
  checkAddress,
  checkClock,
  checkDisk,
  checkMail,
  checkPush,
  checkRights,
  checkSecretKey,
  fixRights,
  unwritable,
} from "../doctor/check-machine.ts";
import { checkPostgres, fixPostgres } from "../doctor/check-postgres.ts";
import { type Finding, type Fix, ok, problemFound } from "../doctor/finding.ts";
import { openStore } from "../process/open-store.ts";
import { fullVersion } from "../process/version.ts";
import { readCheck } from "../storage/secret-key.ts";
import { printError } from "./output.ts";

const ignore = () => {};

export const doctorCommand = defineCommand({
  meta: {
    name: "doctor",
    description:
      "Check the installation and say what to do. Exits with 0 if all is well, 1 for warnings, 2 for problems, 3 for damage that it can't repair",
  },
  args: {
    fix: { type: "boolean", description: "Rebuild what can be rebuilt. Stop the server first" },
    json: { type: "boolean", description: "Print JSON" },
  },
  async run({ args }) {
    const { config, mistakes } = inspectConfig();
    if (!config) {
      for (const mistake of mistakes) printError(mistake);
      process.exit(2);
    }
    let findings = await examine(config);
    const fixes = new Set(findings.flatMap(({ fix }) => (fix === null ? [] : [fix])));
    const fixed: Fix[] = [];
    if (args.fix && fixes.size > 0) {
      try {
        if (fixes.has("rights")) fixRights(config);
        if ([...fixes].some((fix) => fix !== "rights")) {
          if (config.databaseUrl === null) fixDatabase(config.dataDirectory, fixes);
          else await fixPostgres(config, fixes);
        }
      } catch (error) {
        printError((error as Error).message);
        process.exit(2);
      }
      fixed.push(...fixes);
      findings = await examine(config);
    }
    if (args.json) console.log(JSON.stringify({ version, findings, fixed }, null, 2));
    else print(findings, fixed);
    process.exit(exitCodeOf(findings));
  },
});

async function examine(config: Config): Promise<Finding[]> {
  const isSqlite = config.databaseUrl === null;
  const hasDirectory = existsSync(config.dataDirectory);
  if (isSqlite && !hasDirectory)
    return [
      problemFound(
        "data directory",
        `${config.dataDirectory} does not exist.`,
        "Set TIDINGS_DATA, or start the server.",
      ),
    ];
  const database = isSqlite ? checkDatabase(config.dataDirectory) : await checkPostgres(config);
  // Opening a database of an older version would upgrade it.
  const isUsable = !database.some(
    ({ check, state }) => ["database file", "database", "schema"].includes(check) && state !== "ok",
  );
  const unusable = isSqlite ? unwritable(config) : null;
  return [
    ok("program", `Version ${fullVersion()}.`),
    ...(unusable ? [unusable] : []),
    ...database,
    ...(isUsable ? await (unusable ? checkUnwritableKey(config) : checkStore(config)) : []),
    ...(isSqlite ? checkDisk(config) : []),
    ...(isSqlite ? [checkLeftovers(config.dataDirectory)] : []),
    ...(hasDirectory ? checkRights(config) : []),
    ...(isSqlite && !unusable ? [await checkBackup(config)] : []),
    ...(await Promise.all([checkAddress(config), checkMail(config), checkPush()])).flat(),
  ];
}

/** What the store tells when it is opened, and the clock. */
async function checkStore(config: Config): Promise<Finding[]> {
  try {
    const store = await openStore(config, {
      onFatal: ignore,
      onDamage: ignore,
      onInfo: ignore,
      onMigrating: ignore,
      onError: ignore,
      // Reported by `checkPostgres`.
      onWarning: ignore,
      onWaiting: ignore,
      connectTimeoutMs: 5_000,
      mayCreate: false,
      mayUpgrade: false,
    });
    const arrival = await store.events.lastArrival();
    const keyCheck = await readCheck(store.control);
    await store.close();
    return [
      ok("database", "It can be opened."),
      checkSecretKey(config, keyCheck),
      checkClock(arrival?.ms ?? null, Date.now()),
    ];
  } catch (error) {
    return [
      problemFound(
        "database",
        `${(error as Error).message}`,
        "Check DATABASE_URL or TIDINGS_DATA, and the database's own log.",
      ),
    ];
  }
}

function print(findings: Finding[], fixed: Fix[]): void {
  const marks = { ok: "ok  ", warning: "WARN", problem: "FAIL" };
  for (const { check, state, detail, advice } of findings) {
    console.log(`${marks[state]} ${check}: ${detail}`);
    if (advice !== null && state !== "ok") console.log(`       ${advice}`);
  }
  if (fixed.length > 0) console.log(`\nRebuilt: ${fixed.join(", ")}.`);
}

function exitCodeOf(findings: Finding[]): number {
  const problems = findings.filter(({ state }) => state === "problem");
  if (problems.some(({ check }) => check === "database file")) return 3;
  if (problems.length > 0) return 2;
  return findings.some(({ state }) => state === "warning") ? 1 : 0;
}
