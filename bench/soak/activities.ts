import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Servers } from "../kept-servers.ts";
import { Latencies } from "../latencies.ts";
import { bodyOf, listOf } from "./events.ts";
import { type EventSet, importedFrom } from "./ledger.ts";
import type { Posts } from "./posts.ts";
import { type State, saveState } from "./state.ts";

const importEvents = 2_000;
const hourMs = 3_600_000;
const outageRetryMs = 500;

/** How often each thing happens, in seconds. */
const every = { page: 0.5, board: 10, ping: 20, webhook: 1, identify: 5, erasure: 120, import: 300 };

export type Activity = {
  servers: Servers;
  directory: string;
  state: State;
  run: number;
  posts: Posts;
  acknowledged: EventSet;
};

/** Everything that goes on beside the events: readers, boards, heartbeats, webhooks, merges, erasures and imports. */
export class Activities {
  readonly #activity: Activity;
  readonly #loops: Promise<void>[];
  #isOver = false;
  #failure: Error | null = null;
  /** Latencies of pages since the last sample. */
  latencies = new Latencies();
  /** The slowest of each kind of page since the last sample, in milliseconds. */
  slowest = new Map<string, number>();
  readonly counts = { pages: 0, pings: 0, webhooks: 0, merges: 0, erasures: 0, imports: 0 };

  constructor(activity: Activity) {
    this.#activity = activity;
    this.#loops = [
      this.#loop(every.page, (n) => this.#readPage(n)),
      this.#loop(every.board, () => this.#readBoard()),
      this.#loop(every.ping, () => this.#ping()),
      this.#loop(every.webhook, (n) => this.#sendWebhook(n)),
      this.#loop(every.identify, (n) => this.#identify(n)),
      this.#loop(every.erasure, () => this.#erase()),
      this.#loop(every.import, (n) => this.#import(n)),
    ];
  }

  check(): void {
    if (this.#failure) throw this.#failure;
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#loops);
    this.check();
  }

  async #loop(seconds: number, work: (count: number) => Promise<void>): Promise<void> {
    try {
      for (let count = 0; !this.#isOver; count++) {
        const endsAt = performance.now() + seconds * 1_000;
        await work(count);
        while (!this.#isOver && performance.now() < endsAt)
          await Bun.sleep(Math.max(1, Math.min(200, endsAt - performance.now())));
      }
    } catch (error) {
      this.#failure ??= error as Error;
    }
  }

  /** Calls until the server answers: it may be down for a while. */
  async #call(method: string, path: string, body?: unknown): Promise<string> {
    const { servers, state } = this.#activity;
    for (;;) {
      const response = await fetch(servers.address + path, {
        method,
        headers: {
          "x-api-key": state.apiKey,
          ...(body !== undefined && { "content-type": "application/json" }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }).catch(() => null);
      const text = await response?.text().catch(() => null);
      if (response?.ok && typeof text === "string") return text;
      if (response && response.status !== 503 && typeof text === "string")
        throw new Error(`${method} ${path} answered ${response.status}: ${text.slice(0, 500)}`);
      await Bun.sleep(outageRetryMs);
    }
  }

  async #readPage(n: number): Promise<void> {
    const [cohortId] = this.#activity.state.cohortIds;
    const from = new Date(Date.now() - 6 * hourMs).toISOString();
    const pages = [
      "/api/events?limit=50",
      `/api/events?limit=50&channel=channel-${n % 20}`,
      `/api/events?limit=50&userId=user_${(n * 7_919) % 100_000}`,
      "/api/events?limit=50&q=payment+failed",
      "/api/events?limit=50&q=plan%3Dplus",
      "/api/events?limit=50&q=cohort%3APayers",
      `/api/stats?by=hour&from=${from}`,
      `/api/funnel?step=channel%3Achannel-1&step=channel%3Achannel-2&from=${from}`,
      "/api/users?limit=50",
      "/api/rules",
      "/api/alerts",
      `/api/cohorts/${cohortId}/members?limit=50`,
      "/api/deliveries?limit=50",
      "/api/heartbeats",
    ];
    await this.#timed(pages[n % pages.length]!);
  }

  async #readBoard(): Promise<void> {
    const { boardId } = this.#activity.state;
    const from = new Date(Date.now() - 24 * hourMs).toISOString();
    const range = `from=${from}&to=${new Date().toISOString()}&timeZone=Europe/Berlin`;
    for (const tile of ["line", "users", "table", "funnel", "feed", "alerts", "cycle"])
      await this.#timed(`/api/boards/${boardId}/tiles/${tile}/data?${range}`);
  }

  async #timed(path: string): Promise<void> {
    const startedMs = performance.now();
    await this.#call("GET", path);
    const ms = performance.now() - startedMs;
    this.latencies.add(ms);
    const kind = path.replace(/from=.*/, "").replaceAll(/\d{3,}|[0-9a-f]{8}-[0-9a-f-]+/g, "…");
    this.slowest.set(kind, Math.max(this.slowest.get(kind) ?? 0, Math.round(ms)));
    this.counts.pages++;
  }

  /** Pings one heartbeat always, and one only in every other five minutes, so that it goes down and comes back. */
  async #ping(): Promise<void> {
    const [steady, late] = this.#activity.state.heartbeats as [string, string];
    const isOnTime = Math.floor(Date.now() / 300_000) % 2 === 0;
    for (const path of isOnTime ? [steady, late] : [steady]) {
      await this.#call("POST", path, { rows: 14 });
      this.counts.pings++;
    }
  }

  async #sendWebhook(n: number): Promise<void> {
    const { state, run } = this.#activity;
    await this.#call("POST", state.webhook, {
      email: `reader-${n}@example.com`,
      list: listOf(run),
      delivery: `${run}-${n}`,
    });
    this.counts.webhooks++;
  }

  async #identify(n: number): Promise<void> {
    const { run } = this.#activity;
    await this.#call("POST", "/api/identify", {
      userId: `user_${(n * 104_729) % 100_000}`,
      anonymousId: `anonymous-${run}-${n}`,
      properties: { plan: n % 2 ? "pro" : "free" },
    });
    this.counts.merges++;
  }

  /**
   * Erases the users of whom everything has arrived, and waits until each erasure is done. Those that it doesn't get to
   * before the end stay.
   */
  async #erase(): Promise<void> {
    const { state, posts, directory } = this.#activity;
    for (const user of posts.finishedLeavers().filter((name) => !state.erased.includes(name))) {
      if (this.#isOver) return;
      const { job } = JSON.parse(await this.#call("DELETE", `/api/users/${user}`)) as { job: { id: string } };
      // From now on the server erases the user, also if this run ends before.
      state.erased.push(user);
      saveState(directory, state);
      for (;;) {
        const status = JSON.parse(await this.#call("GET", `/api/jobs/${job.id}`)) as {
          job: { state: string };
        };
        if (status.job.state === "done") break;
        await Bun.sleep(500);
      }
      this.counts.erasures++;
    }
  }

  /** Imports a file with the command, through the API. */
  async #import(n: number): Promise<void> {
    const { servers, state, run, acknowledged, directory } = this.#activity;
    const nowMs = Date.now();
    const numbers = Array.from(
      { length: importEvents },
      (_, index) => importedFrom + n * importEvents + index,
    );
    const folder = join(directory, "imports");
    mkdirSync(folder, { recursive: true });
    const file = join(folder, `${run}-${n}.ndjson`);
    await Bun.write(file, numbers.map((number) => JSON.stringify(bodyOf(run, number, nowMs))).join("\n"));
    await this.#untilItWorks(() =>
      servers.command(["import", file, "--url", servers.address, "--quiet"], "", {
        TIDINGS_API_KEY: state.apiKey,
      }),
    );
    rmSync(folder, { recursive: true });
    for (const number of numbers) acknowledged.add({ run, number });
    this.counts.imports++;
  }

  /** An import that an outage ended is continued. */
  async #untilItWorks(work: () => Promise<unknown>): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await work();
        return;
      } catch (error) {
        if (attempt === 10) throw error;
        await Bun.sleep(outageRetryMs * attempt);
      }
    }
  }
}
