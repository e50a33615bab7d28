import { defineCommand } from "citty";
import { ConfigError, readConfig } from "../config/config.ts";
import { parseDatabaseUrl } from "../config/values.ts";
import { copyAhead, move, type Stage } from "../migrate-to/move.ts";
import { agrees, type Compared } from "../migrate-to/proof.ts";
import { MoveRefused } from "../migrate-to/source.ts";
import { jsonArg, printError, printMessage, printResult } from "./output.ts";
import { Progress } from "./progress.ts";
import { UsageError } from "./with-store.ts";

const retryHint = "Run the same command again to continue.";

export const migrateToCommand = defineCommand({
  meta: {
    name: "migrate-to",
    description: "Move a data directory into a PostgreSQL database and verify the result",
  },
  args: {
    address: {
      type: "positional",
      required: true,
      description: "An empty database, such as postgres://user:password@db.example.com/tidings",
      valueHint: "postgres://…",
    },
    "while-running": {
      type: "boolean",
      description:
        "Copy what there is so far while the server runs. A later run without this option copies the rest",
    },
    json: jsonArg,
  },
  async run({ args }) {
    process.exit(await migrateTo(args.address, { isAhead: args["while-running"], isJson: args.json }));
  },
});

type Options = { isAhead: boolean | undefined; isJson: boolean | undefined };

/** Moves the data. Returns the process's exit code: 0 if everything matches, or is copied ahead. */
async function migrateTo(address: string, { isAhead, isJson }: Options): Promise<0 | 1> {
  const progress = new Progress();
  process.once("SIGINT", () => {
    progress.end();
    printMessage(`Stopped. ${retryHint}`);
    process.exit(130);
  });
  try {
    const { dataDirectory } = readConfig();
    const url = parseAddress(address);
    const watch = {
      begun: (stage: Stage) => progress.begin(stage),
      done: (count: number) => progress.add(count),
      ended: () => progress.end(),
      onError: () => {},
    };
    if (isAhead) {
      printMessage(`Copying ${dataDirectory} to ${nameOf(url)}`);
      const events = await copyAhead(dataDirectory, url, watch);
      await printResult(
        isJson,
        { events },
        `${numberOf(events)} events are copied. To finish the move, stop the server and run this command without --while-running.`,
      );
      return 0;
    }
    printMessage(`Moving ${dataDirectory} to ${nameOf(url)}`);
    const compared = await move(dataDirectory, url, watch);
    process.stdout.write(
      isJson
        ? `${JSON.stringify(compared.map((each) => ({ ...each, agrees: agrees(each) })))}\n`
        : tableOf(compared),
    );
    const different = compared.filter((each) => !agrees(each));
    if (different.length === 0) {
      printMessage(
        `Everything matches. Start the server with this address in DATABASE_URL and the same secret key: set TIDINGS_SECRET_KEY to the content of ${dataDirectory}/secret.key, unless it is set already. ${dataDirectory} is unchanged; delete it when you no longer need it.`,
      );
      return 0;
    }
    for (const { what, examples } of different) for (const name of examples) printError(`${what}: ${name}`);
    printError(
      "The copies differ, so no server starts on that database. Empty it and run the command again.",
    );
    return 1;
  } catch (error) {
    progress.end();
    printError(messageOf(error as Error));
    return 1;
  }
}

function parseAddress(address: string): string {
  try {
    return parseDatabaseUrl(address);
  } catch (error) {
    throw new UsageError(`The database ${(error as Error).message}.`);
  }
}

/** The database's host and name, without the password. */
function nameOf(url: string): string {
  const { host, pathname, searchParams } = new URL(url);
  return `${host || searchParams.get("host")}${pathname}`;
}

function messageOf(error: Error): string {
  const isRefusal = [ConfigError, UsageError, MoveRefused].some((kind) => error instanceof kind);
  return isRefusal ? error.message : `The move stopped: ${error.message}. ${retryHint}`;
}

function tableOf(compared: Compared[]): string {
  const head = ["", "rows", "checksum", "in PostgreSQL"];
  const lines = compared.map((each) => {
    const { what, here, there } = each;
    const inPostgres = agrees(each) ? "the same" : `${numberOf(there.rows)} rows, ${there.checksum}`;
    return [what, numberOf(here.rows), here.checksum, inPostgres];
  });
  const all = [head, ...lines];
  const widths = head.map((_, column) => Math.max(...all.map((line) => line[column]!.length)));
  return all
    .map((line) =>
      line
        .map((text, column) => (column === 1 ? text.padStart(widths[1]!) : text.padEnd(widths[column]!)))
        .join("  ")
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join("");
}

function numberOf(count: number): string {
  return count.toLocaleString("en");
}
