import { channelCount, userCount } from "../events.ts";
import { runReads } from "../generators.ts";
import { dayMs, type Month, monthDays } from "../month.ts";
import type { Tidings } from "../servers.ts";
import { count, failed, failedLine, type Line, milliseconds, perSecond, type RowOptions } from "../table.ts";

type Filter = {
  what: string;
  /** The queries, sent in turn, so that caches don't hold a single page. */
  queries: string[];
  /** No event matches: the whole index is searched. */
  isEmpty?: true;
};

/** `p99Ms` is null if the filter failed. */
type Measured = { what: string; p99Ms: number | null; line: Line };

/** A page of 50 with any filter. */
export async function pages(options: RowOptions): Promise<Line[]> {
  const month = await options.month();
  const measured: Measured[] = [];
  for (const filter of await filtersOf(month)) {
    measured.push(await measure(month.server, filter, options));
    options.log(`${filter.what}: ${measured.at(-1)!.line.measured}`);
  }
  const failures = measured.filter(({ p99Ms }) => p99Ms === null);
  const slowest = measured.reduce((a, b) => ((b.p99Ms ?? 0) > (a.p99Ms ?? 0) ? b : a));
  const worst: Line = {
    what: `a page of 50 with any filter at ${count(options.events)} events, p99`,
    measured: failures.length > 0 ? failed : milliseconds(slowest.p99Ms!),
    bar: "10 ms",
    aim: "3 ms",
    figures:
      failures.length > 0
        ? `failed: ${failures.map(({ what }) => what).join(", ")}`
        : `the slowest of ${measured.length} filters: ${slowest.what}; each by itself below`,
  };
  return [worst, ...measured.map(({ line }) => line)];
}

async function filtersOf({ server, startMs, sharedMs }: Month): Promise<Filter[]> {
  const channels = Array.from({ length: channelCount }, (_, number) => `channel-${number}`);
  const users = Array.from({ length: 100 }, (_, number) => `user_${(number * 7_919) % userCount}`);
  const middleMs = startMs + (monthDays / 2) * dayMs;
  const cursors: string[] = [];
  for (const channel of channels) {
    cursors.push(
      `channel=${channel}&cursor=${await cursorAfter(server, `channel=${channel}&to=${middleMs}`)}`,
    );
  }
  const shared = `from=${sharedMs}&to=${sharedMs + 1}`;
  const within = `${shared}&cursor=${await cursorAfter(server, `${shared}&q=-plan%3Dpro`)}`;
  return [
    { what: "no filter", queries: [""] },
    { what: "a channel", queries: channels.map((channel) => `channel=${channel}`) },
    { what: "a user", queries: users.map((user) => `userId=${user}`) },
    { what: "a tag of a quarter of all events", queries: ["tag.plan=pro", "tag.plan=premium"] },
    { what: "a tag of few events", queries: users.map((_, number) => `tag.amount=${number * 31}`) },
    { what: "a name", queries: ["name=Payment%20received", "name=Login%20failed"] },
    {
      what: "a channel and a tag",
      queries: channels.map((channel) => `channel=${channel}&tag.plan=pro`),
    },
    {
      what: "a channel and a user",
      queries: users.map((user, number) => `channel=channel-${number % channelCount}&userId=${user}`),
    },
    {
      what: "two common tags that never meet",
      queries: ["tag.plan=plus&tag.origin=web", "tag.plan=pro&tag.origin=web"],
      isEmpty: true,
    },
    { what: "a word (`q=payment failed`)", queries: [`q=${encodeURIComponent("payment failed")}`] },
    { what: 'a phrase (`q="payment received"`)', queries: searches('"payment received"', '"login failed"') },
    {
      what: 'a name in a search (`q=name:"Payment received"`)',
      queries: searches('name:"Payment received"', 'name:"Login failed"'),
    },
    { what: 'no user (`q=user:""`)', queries: searches('user:""', 'user:"" plan=pro') },
    { what: "a prefix (`q=pa*`)", queries: ["q=pa*", "q=log*"] },
    { what: "a prefix that every event has (`q=p*`)", queries: ["q=p*"] },
    { what: "a negation (`q=-origin=web`)", queries: ["q=-origin%3Dweb", "q=-origin%3Dapp"] },
    {
      what: 'a negated phrase (`q=-"payment received"`)',
      queries: searches('-"payment received"', '-"login failed"'),
    },
    { what: 'any user (`q=-user:""`)', queries: searches('-user:""') },
    {
      what: "a negation that leaves nothing (`q=plan=plus -origin=app`)",
      queries: [`q=${encodeURIComponent("plan=plus -origin=app")}`],
      isEmpty: true,
    },
    { what: "a number of most events (`q=amount>50`)", queries: searches("amount>50", "amount<=99000") },
    {
      what: "a number of one event in a thousand (`q=amount:5000..5099`)",
      queries: users.map(
        (_, number) => `q=${encodeURIComponent(`amount:${number * 900}..${number * 900 + 99}`)}`,
      ),
    },
    {
      what: "a rare number (`q=amount:5000..5001`)",
      queries: users.map(
        (_, number) => `q=${encodeURIComponent(`amount:${number * 900}..${number * 900 + 1}`)}`,
      ),
    },
    {
      what: "a number of none (`q=amount>1000000`)",
      queries: searches("amount>1000000", "amount<0"),
      isEmpty: true,
    },
    {
      what: "a channel and a number (`q=channel:channel-3 amount>99000`)",
      queries: channels.map((channel) => `q=${encodeURIComponent(`channel:${channel} amount>99000`)}`),
    },
    { what: "a negated number (`q=-amount>100`)", queries: searches("-amount>100", "-amount<99900") },
    {
      what: "a channel and a day",
      queries: channels.map((channel, number) => {
        const from = startMs + number * dayMs;
        return `channel=${channel}&from=${from}&to=${from + dayMs}`;
      }),
    },
    { what: "a channel, oldest first", queries: channels.map((channel) => `channel=${channel}&order=asc`) },
    { what: "a channel, with a cursor half a month back", queries: cursors },
    { what: "events of one millisecond", queries: [shared, `${shared}&order=asc`, within] },
    {
      what: "events of one millisecond, with a filter",
      queries: [
        ...searches('"payment received"', '-"payment received"', 'user:""', "plan=pro"),
        "channel=channel-3",
        "channel=channel-5&tag.plan=plus",
      ].flatMap((query) => [`${shared}&${query}`, `${within}&${query}`]),
    },
  ];
}

function searches(...searches: string[]): string[] {
  return searches.map((search) => `q=${encodeURIComponent(search)}`);
}

/** Measures a filter on one connection, then on eight. A failure is reported, and the other filters continue. */
async function measure(
  server: Tidings,
  { what, queries, isEmpty }: Filter,
  { seconds, quick }: RowOptions,
): Promise<Measured> {
  const title = `a page of 50: ${what}`;
  try {
    const { events } = await readPage(server, queries[0]!);
    if ((events.length === 0) !== (isEmpty ?? false)) {
      throw new Error(`${events.length} events match ${queries[0]}`);
    }
    const paths = queries.map((query) => `/api/events?limit=50${query && `&${query}`}`);
    const times = { warmupMs: quick ? 10 : 300, durationMs: (seconds * 1_000) / 4 };
    const one = await runReads(server, paths, { connections: 1, ...times });
    const eight = quick ? null : await runReads(server, paths, { connections: 8, ...times });
    const onEight =
      eight && `; on 8 connections p99 ${milliseconds(eight.p99Ms)} at ${perSecond(eight.perSecond)}`;
    const line = {
      what: title,
      measured: `p50 ${milliseconds(one.p50Ms)}, p99 ${milliseconds(one.p99Ms)}`,
      figures: `${count(one.counted)} requests, slowest ${milliseconds(one.maxMs)}${onEight ?? ""}`,
    };
    return { what, p99Ms: one.p99Ms, line };
  } catch (error) {
    return {
      what,
      p99Ms: null,
      line: failedLine(title, error),
    };
  }
}

async function readPage({ ports, apiKey }: Tidings, query: string) {
  const response = await fetch(`http://127.0.0.1:${ports[0]}/api/events?limit=50${query && `&${query}`}`, {
    headers: { "x-api-key": apiKey },
  });
  if (response.status !== 200)
    throw new Error(`GET /api/events?${query} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as { events: unknown[]; nextCursor: string | null };
}

/** The cursor of a query's second page. */
async function cursorAfter(server: Tidings, query: string): Promise<string> {
  const { nextCursor } = await readPage(server, query);
  if (nextCursor === null) throw new Error(`${query} has no second page: load more events`);
  return nextCursor;
}

/** How costs grow with the number of stored events: measured while the month is loaded, at each tenfold size. */
export async function growth({ month }: RowOptions): Promise<Line[]> {
  const { growth: sizes } = await month();
  return sizes.map(({ events, perSecond: rate, bytesPerEvent, page }) => ({
    what: `at ${count(events)} events: loading in batches of 1,000`,
    measured: perSecond(rate),
    figures: `a page of 50 of a channel: p50 ${milliseconds(page.p50Ms)}, p99 ${milliseconds(page.p99Ms)}; the file has ${count(bytesPerEvent)} bytes an event`,
  }));
}
