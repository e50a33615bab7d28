import { createECDH, randomBytes } from "node:crypto";
import { eventBodies, post } from "../events.ts";
import { runLoad } from "../generators.ts";
import { openStream } from "../open-stream.ts";
import type { Tidings } from "../servers.ts";
import { signIn } from "../sign-in.ts";
import { count, type Line, median, milliseconds, perSecond, type RowOptions, ratio } from "../table.ts";
import { barredConnections } from "./single-posts.ts";

const members = 5;
const browsersPerMember = 4;
const password = "password-for-bench";

/** One push message in this many fails, and is tried again. */
const failingOneIn = 3;
/** How long to wait for the first message after the load. */
const firstMessageMs = 20_000;

type Round = { perSecond: number; p99Ms: number; sent: number; deliveries: number };

/** Single durable POSTs with one event in ten notifying, against the same with none. */
export async function notifying(options: RowOptions): Promise<Line[]> {
  const silent: Round[] = [];
  const notifying: Round[] = [];
  // Interleaved, so that a minute of slowness affects both.
  for (let round = 1; round <= options.rounds; round++) {
    silent.push(await measure(options, 0));
    notifying.push(await measure(options, 10));
    options.log(
      `round ${round}, notifying: ${perSecond(notifying.at(-1)!.perSecond)}, silent ${perSecond(silent.at(-1)!.perSecond)}`,
    );
  }
  const figuresOf = (rounds: Round[]) =>
    `${perSecond(median(rounds.map((round) => round.perSecond)))} (p99 ${milliseconds(median(rounds.map((round) => round.p99Ms)))})`;
  return [
    {
      what: `… with one event in ten notifying ${members} members and ${members * browsersPerMember} browsers, against without`,
      measured: ratio(
        notifying.map((round, index) => round.perSecond / silent[index]!.perSecond),
        "",
      ),
      bar: "0.85",
      aim: "0.9",
      figures: `${figuresOf(notifying)} to ${figuresOf(silent)}; ${perSecond(median(notifying.map(({ sent }) => sent)))} push messages meanwhile, of which one in ${failingOneIn} failed; ${count(Math.round(median(notifying.map(({ deliveries }) => deliveries))))} deliveries to make`,
    },
  ];
}

/** @param oneIn - one event in this many notifies; 0 for none */
async function measure({ tidings, seconds, warmupMs, quick }: RowOptions, oneIn: number): Promise<Round> {
  const server = await tidings();
  let received = 0;
  const pushService = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () => new Response(null, { status: ++received % failingOneIn === 0 ? 503 : 201 }),
  });
  const dashboards = new AbortController();
  try {
    for (let number = 0; number < members; number++) {
      await addMember(server, number, pushService.url.origin, dashboards.signal);
    }
    const bodies = eventBodies.map((body, index) =>
      oneIn > 0 && index % oneIn === 0 ? body.replace('"notify":false', '"notify":true') : body,
    );
    const startedAt = performance.now();
    const { perSecond, p99Ms, acknowledged } = await runLoad({
      ports: server.ports,
      connections: quick ? 4 : barredConnections,
      warmupMs,
      durationMs: seconds * 1_000,
      expectedStatus: 201,
      requests: bodies.map((body) => post(body, server.apiKey)),
    });
    const sent = received / ((performance.now() - startedAt) / 1_000);
    const stored = await server.countEvents();
    if (stored !== acknowledged)
      throw new Error(`The server acknowledged ${count(acknowledged)} events and holds ${count(stored)}.`);
    // A quick run can be over before its first message is sent.
    for (const endMs = performance.now() + firstMessageMs; oneIn > 0 && received === 0; await Bun.sleep(100))
      if (performance.now() > endMs) throw new Error("No push message was sent.");
    // One for each member's dashboard, and one for each browser.
    const deliveries = oneIn > 0 ? (stored / oneIn) * members * (1 + browsersPerMember) : 0;
    return { perSecond, p99Ms, sent, deliveries };
  } finally {
    dashboards.abort();
    await server.stop();
    await pushService.stop(true);
  }
}

/** Adds a project member with an open dashboard and several browsers that get push messages. */
async function addMember(
  server: Tidings,
  number: number,
  pushOrigin: string,
  signal: AbortSignal,
): Promise<void> {
  const email = `member-${number}@example.com`;
  await server.command(["account", "create", "--email", email, "--password-stdin"], password);
  const [port] = server.ports;
  const address = `http://127.0.0.1:${port}`;
  const json = (body: object) => ({ method: "POST", body: JSON.stringify(body) });
  const headers = await signIn(address, email, password);
  for (let device = 0; device < browsersPerMember; device++) {
    const subscription = {
      endpoint: `${pushOrigin}/${number}/${device}`,
      keys: {
        p256dh: createECDH("prime256v1").generateKeys("base64url"),
        auth: randomBytes(16).toString("base64url"),
      },
    };
    const added = await fetch(`${address}/api/destinations`, {
      ...json({ kind: "browser", label: `Device ${device}`, subscription }),
      headers,
    });
    if (added.status !== 201)
      throw new Error(`Adding a browser answered ${added.status}: ${await added.text()}`);
  }
  await openStream(`${address}/api/events/stream?channel=none`, headers, signal);
}
