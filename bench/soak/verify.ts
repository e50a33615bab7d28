import type { Servers } from "../kept-servers.ts";
import { expiringChannel, leaverName, leaverSpan, listOf } from "./events.ts";
import { EventSet, leaverOf, type Sent, sentOf } from "./ledger.ts";
import { call } from "./setup.ts";
import type { State } from "./state.ts";

const expiryTimeoutMs = 600_000;
const examplesMax = 5;

export type Verdict = { stored: number; expired: number; erased: number; problems: string[] };

/**
 * Reads all events and compares them with the ledger: each that was acknowledged is there once, and those that expired
 * or were erased are gone. Events that were sent without a response may be there.
 *
 * @param webhooks - how many requests of the webhook were acknowledged in this run
 */
export async function verify(
  servers: Servers,
  state: State,
  acknowledged: EventSet,
  { run, webhooks }: { run: number; webhooks: number },
): Promise<Verdict> {
  await untilExpired(servers, state);
  const erasedUsers = new Set(state.erased);
  const isGone = ({ run, number, fate }: Sent) =>
    fate === "expiring" ||
    (fate === "erased" && erasedUsers.has(leaverName(run, leaverOf(number, leaverSpan))));
  const found = new EventSet();
  const counts = { stored: 0, expired: 0, erased: 0 };
  const problems = new Map<string, Sent[]>();
  const report = (what: string, sent: Sent) => {
    const events = problems.get(what) ?? [];
    problems.set(what, [...events.slice(0, examplesMax), sent]);
  };
  for await (const id of ids(servers, state)) {
    const sent = sentOf(id);
    if (!sent) continue;
    counts.stored++;
    if (found.add(sent)) report("stored twice", sent);
    if (isGone(sent)) report(`still there, though ${sent.fate === "erased" ? "erased" : "expired"}`, sent);
  }
  for (const sent of acknowledged) {
    if (!isGone(sent)) {
      if (!found.has(sent)) report("acknowledged, and not there", sent);
    } else counts[sent.fate === "erased" ? "erased" : "expired"]++;
  }
  const lines = [...problems].map(([what, events]) => `${what}: ${JSON.stringify(events)}`);
  const recorded = await countOf(servers, state, `tag.list=${listOf(run)}`);
  if (recorded !== webhooks)
    lines.push(`${webhooks} requests of the webhook were acknowledged, and ${recorded} are events`);
  return { ...counts, problems: lines };
}

async function countOf(servers: Servers, { apiKey }: State, filter: string): Promise<number> {
  const path = `/api/events/count?${filter}`;
  return (await call<{ count: number }>(servers.address, "GET", path, { "x-api-key": apiKey })).count;
}

async function untilExpired(servers: Servers, state: State): Promise<void> {
  const deadline = performance.now() + expiryTimeoutMs;
  while (performance.now() < deadline && (await countOf(servers, state, `channel=${expiringChannel}`)) > 0)
    await Bun.sleep(2_000);
}

/** The ids of all events, from a listing that is read as it arrives. */
async function* ids(servers: Servers, { apiKey }: State): AsyncGenerator<string> {
  const response = await fetch(`${servers.address}/api/events?format=ndjson`, {
    headers: { "x-api-key": apiKey },
  });
  if (!response.ok) throw new Error(`GET /api/events answered ${response.status}: ${await response.text()}`);
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response.body!) {
    text += decoder.decode(chunk, { stream: true });
    const lines = text.split("\n");
    text = lines.pop()!;
    for (const line of lines) if (line !== "") yield (JSON.parse(line) as { id: string }).id;
  }
  if (text !== "") yield (JSON.parse(text) as { id: string }).id;
}
