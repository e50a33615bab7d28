import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { eventOf } from "../events.ts";
import { peakBytesDuring } from "../memory.ts";
import { deleteFolder, makeFolder } from "../processes.ts";
import { startTidings } from "../servers.ts";
import { count, type Line, median, megabytes, perSecond, type RowOptions, ratio } from "../table.ts";
import { barredSize, measureBatches } from "./batches.ts";

const monthMs = 30 * 86_400_000;
const linesTogether = 1_000;

/** Events per second, and the peak memory of the command and of the server that it uses, in bytes. */
type Import = { rate: number; commandBytes: number; serverBytes: number };
type Round = { batches: number; local: Import; http: Import };

/** `tidings import` of dated lines into an empty database, on the data itself and over HTTP, against batches. */
export async function importLines(options: RowOptions): Promise<Line[]> {
  const folder = await makeFolder();
  try {
    const file = join(folder, "events.ndjson");
    await pipeline(Readable.from(linesOf(options.events)), createWriteStream(file));
    const rounds: Round[] = [];
    for (let round = 1; round <= options.rounds; round++) {
      const { perSecond: batches } = await measureBatches(startTidings, barredSize, options);
      const local = await measureImport(file, options.events, false);
      const http = await measureImport(file, options.events, true);
      rounds.push({ batches, local, http });
      options.log(
        `round ${round}, import: ${perSecond(local.rate)}, over HTTP ${perSecond(http.rate)}, batches ${perSecond(batches)}`,
      );
    }
    const figures = (name: "local" | "http") => {
      const rate = median(rounds.map((round) => round[name].rate));
      const peak = (of: "commandBytes" | "serverBytes") =>
        megabytes(Math.max(...rounds.map((round) => round[name][of])));
      const server = name === "http" ? `, the server's at most ${peak("serverBytes")}` : "";
      const batches = median(rounds.map((round) => round.batches));
      return `${perSecond(rate)} to ${perSecond(batches)}; the command's memory at most ${peak("commandBytes")}${server}`;
    };
    const what = `import of ${count(options.events)} lines`;
    return [
      {
        what: `${what}, events/s, against batches of ${count(barredSize)}`,
        measured: ratio(
          rounds.map(({ local, batches }) => local.rate / batches),
          "",
        ),
        bar: "0.6",
        aim: "0.8",
        figures: figures("local"),
      },
      {
        what: `${what} over HTTP, events/s, against batches of ${count(barredSize)}`,
        measured: ratio(
          rounds.map(({ http, batches }) => http.rate / batches),
          "",
        ),
        figures: figures("http"),
      },
    ];
  } finally {
    await deleteFolder(folder);
  }
}

function* linesOf(events: number): Generator<string> {
  const startMs = Date.now() - monthMs;
  for (let first = 0; first < events; first += linesTogether) {
    let text = "";
    for (let number = first; number < Math.min(first + linesTogether, events); number++) {
      const createdAt = new Date(startMs + Math.floor((number / events) * monthMs)).toISOString();
      text += `${JSON.stringify({ ...eventOf(number), createdAt })}\n`;
    }
    yield text;
  }
}

/** Measures one import, with the start of the command, and verifies that all of its events are stored. */
async function measureImport(file: string, events: number, isOverHttp: boolean): Promise<Import> {
  const server = await startTidings();
  try {
    if (!isOverHttp) await server.halt();
    const target = isOverHttp ? ["--url", `http://127.0.0.1:${server.ports[0]}`] : [];
    const commands: number[] = [];
    const ofServer = await peakBytesDuring(isOverHttp ? server.pids : [], () =>
      peakBytesDuring(commands, async () => {
        const startMs = performance.now();
        const printed = await server.command(["import", file, "--json", ...target], "", (pid) =>
          commands.push(pid),
        );
        return { printed, seconds: (performance.now() - startMs) / 1_000 };
      }),
    );
    const { result, peakBytes: commandBytes } = ofServer.result;
    const { accepted } = JSON.parse(result.printed) as { accepted: number };
    if (accepted !== events) throw new Error(`${accepted} of ${events} lines were imported.`);
    return { rate: events / result.seconds, commandBytes, serverBytes: ofServer.peakBytes };
  } finally {
    await server.stop();
  }
}
