/**
 * Measures how the feed feels in a real browser while it holds 100,000 events: how long interactions take until the
 * next paint, and frame times, the main thread's work and memory while 500 events a second arrive. Prints two tables.
 *
 * An interaction's duration is that of Event Timing, which is what INP counts, in steps of 8 ms; it grows with the load
 * of the machine, unlike the main thread's CPU time for it, which includes what follows its paint. Frame times are
 * compared with those of an empty page of the same browser at the same time, because a busy machine takes frames from
 * both. Memory is the JavaScript heap after a garbage collection.
 *
 * @example
 * npm run responsiveness
 * npm run responsiveness -- 20000 10   # events in the feed, seconds of load
 */
import { loadavg } from "node:os";
import type { CDPSession, Page } from "playwright-core";
import { openDashboardOfProcess } from "./dashboard.ts";

const events = Number(process.argv[2] ?? 100_000);
const seconds = Number(process.argv[3] ?? 30);
const eventsPerSecond = 500;
const repetitions = 20;
/** Shorter interactions have no entry. */
const shortestMs = 16;
const slowFrameMs = 33;

const names = ["Order placed", "Payment received", "Signed in", "Page viewed", "Parcel sent"];
const countries = ["DE", "JP", "BR", "US", "FR", "IN", "NG"];

const dashboard = await openDashboardOfProcess();
try {
  await recordEvents();
  const context = await dashboard.newContext();
  // Larger pages than the dashboard asks for, so that scrolling through all events takes minutes, not half an hour.
  await context.route(/\/api\/events\?.*limit=100&/, (route) =>
    route.continue({ url: route.request().url().replace("limit=100&", "limit=1000&") }),
  );
  const page = await context.newPage();
  await page.goto(`${dashboard.address}/p/default`);
  await page.getByRole("article").first().waitFor();
  await page.getByText("Live", { exact: true }).waitFor();
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
  const emptyHeap = await heapBytes(devtools);
  const startedMs = performance.now();
  await loadAll(page);
  const rows = await page.getByRole("feed").evaluate((feed) => feed.clientHeight / 52);
  if (rows < events) throw new Error(`The feed holds ${Math.floor(rows)} rows.`);
  console.error(
    `Loaded ${events.toLocaleString("en")} events in ${secondsOf(performance.now() - startedMs)}.`,
  );
  console.log(
    `| interaction, ${events.toLocaleString("en")} events in the feed | median | slowest of ${repetitions} | main thread, median | main thread, most |`,
  );
  console.log("| --- | --- | --- | --- | --- |");
  await measureInteractions(page, devtools);

  console.log(
    `\n| ${eventsPerSecond} events a second for ${seconds} s | frame, median | frame, p95 | frames over ${slowFrameMs} ms | of an empty page | main thread, per second | heap, before → after |`,
  );
  console.log("| --- | --- | --- | --- | --- | --- | --- |");
  await page.locator("[role=feed]").evaluate((feed) => feed.parentElement!.scrollTo(0, 20_000));
  await measureLoad(`${events.toLocaleString("en")} events in the feed, in the middle of it`, page, devtools);
  // Live: the newest are shown at once, and the oldest leave the feed.
  await page.keyboard.press("g");
  await page.getByRole("button", { name: /new$/ }).waitFor({ state: "detached" });
  await sendLoad(10);
  await measureLoad("live, at the top", page, devtools);
  await measureLoad("… and once more", page, devtools);
  console.log(
    `\nHeap of the page before its events were loaded: ${megabytes(emptyHeap)}. Load of the machine: ${loadavg()
      .map((each) => each.toFixed(1))
      .join(", ")}.`,
  );
} finally {
  await dashboard[Symbol.asyncDispose]();
}

/** Records the feed's events, spread over the last day. */
async function recordEvents(): Promise<void> {
  const startMs = Date.now() - 86_400_000;
  const stepMs = 86_000_000 / events;
  const batch = 10_000;
  for (let start = 0; start < events; start += batch) {
    await dashboard.post(
      Array.from({ length: Math.min(batch, events - start) }, (_, index) => ({
        ...sample(start + index),
        createdAt: Math.round(startMs + (start + index) * stepMs),
      })),
    );
  }
}

function sample(index: number) {
  return {
    channel: `channel-${index % 12}`,
    name: names[index % names.length]!,
    userId: `cus_${index % 5_000}`,
    tags: { country: countries[index % countries.length]!, amount: String(index % 200), plan: "pro" },
  };
}

/** Scrolls to the end until everything is loaded. */
async function loadAll(page: Page): Promise<void> {
  await page.evaluate(`(() => {
    const feed = document.querySelector("[role=feed]").parentElement;
    window.scrolling = setInterval(() => feed.scrollTo(0, feed.scrollHeight), 10);
  })()`);
  await page.getByText("You've reached the first event.").waitFor({ timeout: 1_800_000 });
  await page.evaluate("clearInterval(window.scrolling)");
}

async function measureInteractions(page: Page, devtools: CDPSession): Promise<void> {
  await page.evaluate(`new PerformanceObserver((list) => {
    for (const { duration, interactionId } of list.getEntries())
      if (interactionId) window.slowestMs = Math.max(window.slowestMs ?? 0, duration);
  }).observe({ type: "event", durationThreshold: ${shortestMs} })`);
  const keyboard = page.keyboard;
  const search = page.getByLabel("Search and filter");
  const display = page.getByRole("button", { name: "Display" });

  async function report(
    what: string,
    act: (index: number) => Promise<unknown>,
    undo?: () => Promise<unknown>,
  ) {
    const durations: number[] = [];
    const work: number[] = [];
    for (let index = 0; index < repetitions; index++) {
      await page.evaluate("window.slowestMs = 0");
      const before = await workMs(devtools);
      await act(index);
      // Two frames, so that the entry of what was painted has arrived.
      await page.evaluate(
        `new Promise((resolve) => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(resolve)), 100))`,
      );
      durations.push(await page.evaluate<number>(`window.slowestMs || ${shortestMs}`));
      work.push((await workMs(devtools)) - before);
      await undo?.();
    }
    durations.sort((a, b) => a - b);
    work.sort((a, b) => a - b);
    const shown = (ms: number) => (ms <= shortestMs ? `≤ ${shortestMs} ms` : `${ms} ms`);
    console.log(
      `| ${what} | ${shown(durations[repetitions >> 1]!)} | ${shown(durations.at(-1)!)} | ${work[repetitions >> 1]!.toFixed()} ms | ${work.at(-1)!.toFixed()} ms |`,
    );
  }

  await keyboard.press("g");
  await report("a key of a search being typed", async (index) => {
    if (index === 0) await search.focus();
    await keyboard.press("country=J plan=pro amount>5"[index]!);
  });
  await search.fill("");
  await keyboard.press("Escape");
  await keyboard.press("Escape");
  await report("next event (j)", () => keyboard.press("j"));
  await report("previous event (k)", () => keyboard.press("k"));
  await keyboard.press("j");
  await report(
    "open an event (Enter)",
    () => keyboard.press("Enter"),
    async () => {
      await page.getByRole("region", { name: "Event", exact: true }).waitFor();
      await keyboard.press("Escape");
      await page.getByRole("region", { name: "Event", exact: true }).waitFor({ state: "detached" });
    },
  );
  await report(
    "close it (Esc)",
    () => keyboard.press("Escape"),
    () => keyboard.press("Enter"),
  );
  await keyboard.press("Escape");
  await report("newest event, from the middle (g)", async () => {
    await page.locator("[role=feed]").evaluate((feed) => feed.parentElement!.scrollTo(0, 1_000_000));
    await page.evaluate("new Promise(requestAnimationFrame)");
    await keyboard.press("g");
  });
  await report("change the density", async (index) => {
    await display.click();
    await page.getByRole("menuitem", { name: index % 2 ? "Comfortable" : "Compact" }).click();
  });
}

async function sendLoad(forSeconds: number): Promise<void> {
  for (let tick = 0; tick < forSeconds * 10; tick++) {
    const next = Bun.sleep(100);
    await dashboard.post(
      Array.from({ length: eventsPerSecond / 10 }, (_, index) => sample(tick * 50 + index)),
    );
    await next;
  }
}

async function measureLoad(what: string, page: Page, devtools: CDPSession): Promise<void> {
  const empty = await page.context().newPage();
  const before = await heapBytes(devtools);
  const workBefore = await workMs(devtools);
  const [frames, possible] = await Promise.all([frameTimes(page), frameTimes(empty), sendLoad(seconds)]);
  const work = ((await workMs(devtools)) - workBefore) / seconds;
  const after = await heapBytes(devtools);
  await empty.close();
  console.log(
    `| ${what} | ${frames.median.toFixed(1)} ms | ${frames.p95.toFixed(1)} ms | ${share(frames.slow)} | ${possible.median.toFixed(1)} ms, ${possible.p95.toFixed(1)} ms, ${share(possible.slow)} | ${work.toFixed()} ms | ${megabytes(before)} → ${megabytes(after)} |`,
  );
}

type Frames = { median: number; p95: number; slow: number };

/** The times between frames of a page. */
async function frameTimes(page: Page): Promise<Frames> {
  const times = await page.evaluate<number[]>(`new Promise((resolve) => {
    const times = [];
    const start = performance.now();
    let last = start;
    requestAnimationFrame(function frame(now) {
      times.push(now - last);
      last = now;
      if (now - start < ${seconds * 1_000}) requestAnimationFrame(frame);
      else resolve(times.slice(1));
    });
  })`);
  times.sort((a, b) => a - b);
  return {
    median: times[times.length >> 1]!,
    p95: times[Math.floor(times.length * 0.95)]!,
    slow: times.filter((ms) => ms > slowFrameMs).length / times.length,
  };
}

/** CPU time of the page's main thread. */
async function workMs(devtools: CDPSession): Promise<number> {
  const { metrics } = await devtools.send("Performance.getMetrics");
  return metrics.find(({ name }) => name === "TaskDuration")!.value * 1_000;
}

async function heapBytes(devtools: CDPSession): Promise<number> {
  await devtools.send("HeapProfiler.collectGarbage");
  return (await devtools.send("Runtime.getHeapUsage")).usedSize;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

function share(value: number): string {
  return `${(value * 100).toFixed(1)}%`;
}

function secondsOf(ms: number): string {
  return `${(ms / 1_000).toFixed(0)} s`;
}
