/** The drill itself, in the namespaces that `drill.ts` makes: `inside.ts DIRECTORY [--only …] [--times …] [--seconds …]`. */
import { parseArgs } from "node:util";
import { expectPostgresConsistent } from "../../testing/consistency.ts";
import { Answers } from "./answers.ts";
import { createCall } from "./call.ts";
import { Deliveries } from "./deliveries.ts";
import { type Fault, faults } from "./faults.ts";
import { createRule, Installation } from "./installation.ts";
import { Ledger } from "./ledger.ts";
import { startBridge } from "./machine.ts";
import { type Outcome, promises } from "./outcome.ts";
import { Readers } from "./readers.ts";
import { Round } from "./round.ts";
import { Streams } from "./streams.ts";
import { formatTable } from "./table.ts";
import { alertChannel, Writers } from "./writers.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { only: { type: "string" }, times: { type: "string" }, seconds: { type: "string" } },
});
const [directory] = positionals;
const chosen = choose(values.only);
const times = values.times === undefined ? null : positive("times", values.times);
const seconds = values.seconds === undefined ? null : positive("seconds", values.seconds);

await startBridge();
console.error("Starting etcd, Patroni, PostgreSQL, HAProxy, Tidings and Caddy …");
const installation = await Installation.start(directory!);
const deliveries = new Deliveries();
await createRule(installation, `channel:${alertChannel}`, deliveries.port);
const ledger = new Ledger();
const answers = new Answers();
const call = createCall(installation.address, installation.apiKey, answers);
const streams = new Streams(installation);
await streams.opened();
const writers = new Writers(installation, call, ledger);
const readers = new Readers(call, ledger);
const scene = { installation, ledger, streams, writers, readers };
await Bun.sleep(3_000);

const outcomes: Outcome[] = [];
const tried = new Map<string, number>();
const total = chosen.reduce((sum, fault) => sum + (times ?? fault.times), 0);
// One of each after the other, so that each fault meets what all others leave behind.
for (let n = 0; outcomes.length < total; n++) {
  const fault = chosen[n % chosen.length]!;
  const nth = tried.get(fault.name) ?? 0;
  if (nth === (times ?? fault.times)) continue;
  tried.set(fault.name, nth + 1);
  const outcome = await new Round(scene, fault).run((seconds ?? fault.seconds) * 1_000, nth);
  outcomes.push(outcome);
  report(outcome);
}

await Promise.all([writers.stop(), readers.stop()]);
const { lost, doubled } = await new Round(scene, chosen[0]!).compareAll();
// Counters and the index agree with the events.
await expectPostgresConsistent(await installation.databaseUrl());
const alerts = [...ledger.acknowledged.values()].filter(({ channel }) => channel === alertChannel);
const undelivered = await deliveries.missing(alerts.map(({ id }) => id));
const deliveredTwice = [...deliveries.counts.values()].filter((count) => count > 1).length;
streams.stop();

const statuses = [...answers.counts].map(([status, count]) => `${count} × ${status}`).join(", ");
console.log(`\n${formatTable(outcomes)}\n`);
console.log(
  `${count(ledger.acknowledged.size)} events acknowledged, ${lost} lost and ${doubled} doubled at the end. ` +
    `Of ${streams.logs.length} live streams, events delivered twice: ${sum("repeated")}, out of order: ${sum("outOfOrder")}, resets: ${sum("resets")}. ` +
    `Acknowledged events that a reader did not find: ${sum("vanished")}; listed before they were acknowledged, and then missing for a while: ${sum("listedEarly")}. ` +
    `Of ${alerts.length} notifications of a rule, missing: ${undelivered.length}, delivered twice: ${deliveredTwice}. ` +
    `Answers: ${statuses}.`,
);
for (const text of answers.unexpected) console.log(`Unexpected: ${text}`);
for (const text of writers.problems) console.log(`Not sent: ${text}`);
const isKept =
  outcomes.every((outcome) => promises.every((name) => outcome[name] === 0)) &&
  lost + doubled + undelivered.length + answers.unexpected.length + writers.problems.length === 0;
console.log(isKept ? "Every promise was kept." : "A promise was broken.");
process.exit(isKept ? 0 : 1);

function report(outcome: Outcome): void {
  const broken = promises.filter((name) => outcome[name] > 0).map((name) => `${outcome[name]} ${name}`);
  const inSeconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
  console.error(
    `${outcomes.length}/${total} ${outcome.fault}: no write for ${inSeconds(outcome.writePauseMs)}, no read for ${inSeconds(outcome.readPauseMs)}, ` +
      `whole after ${inSeconds(outcome.recoveryMs)}${broken.length > 0 ? `; ${broken.join(", ")}` : ""}`,
  );
}

function sum(name: Exclude<keyof Outcome, "fault">): number {
  return outcomes.reduce((all, outcome) => all + outcome[name], 0);
}

function choose(names: string | undefined): readonly Fault[] {
  if (names === undefined) return faults;
  const chosen = names.split(",");
  const unknown = chosen.filter((name) => !faults.some((fault) => fault.name === name));
  if (unknown.length > 0) {
    console.error(
      `There is no fault ${unknown.join(", ")}. There are ${faults.map(({ name }) => name).join(", ")}.`,
    );
    process.exit(2);
  }
  return faults.filter(({ name }) => chosen.includes(name));
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (value > 0) return value;
  console.error(`--${name} must be a positive number, not "${text}".`);
  process.exit(2);
}

function count(value: number): string {
  return value.toLocaleString("en");
}
