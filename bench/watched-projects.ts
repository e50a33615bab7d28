import type { Tidings } from "./servers.ts";
import { signIn } from "./sign-in.ts";

export type WatchedProject = { origin: string; apiKey: string };

/** A heartbeat by its slug, in a project, and the address of its pings. */
export type WatchedJob = { project: WatchedProject; slug: string; url: string };

/** Below the number that an account may own, and the number of rules and of heartbeats that a project may have. */
const projectsOfAccount = 45;
const itemsOfProject = 50;
const requestsAtOnce = 16;
const password = "password-for-bench";

/** Creates projects, each with a key, and further accounts that own them. */
export async function createProjects(
  { ports, command }: Tidings,
  prefix: string,
  count: number,
): Promise<WatchedProject[]> {
  const origin = `http://127.0.0.1:${ports[0]}`;
  const projects: WatchedProject[] = [];
  for (let first = 0; first < count; first += projectsOfAccount) {
    const email = `${prefix}-${first}@example.com`;
    await command(["account", "create", "--email", email, "--password-stdin"], password);
    const headers = await signIn(origin, email, password);
    for (let number = first; number < Math.min(count, first + projectsOfAccount); number++) {
      type Created = { project: { slug: string } };
      const name = `${prefix} ${number}`;
      const { project } = await call<Created>(`${origin}/api/projects`, headers, { name });
      const key = { name: "bench", scopes: ["ingest", "read", "manage"] };
      const path = `${origin}/api/keys?project=${project.slug}`;
      const { secret } = await call<{ secret: string }>(path, headers, key);
      projects.push({ origin, apiKey: secret });
    }
  }
  return projects;
}

/** Fills each project with rules about a metric of five minutes, none of which ever notifies. Returns their number. */
export async function addMonitors(projects: WatchedProject[]): Promise<number> {
  await atOnce(projects, async ({ origin, apiKey }) => {
    const headers = headersOf(apiKey);
    // The rule that a project begins with counts as well.
    const { rules } = await call<{ rules: { id: string }[] }>(`${origin}/api/rules`, headers);
    for (const { id } of rules) await fetch(`${origin}/api/rules/${id}`, { method: "DELETE", headers });
    for (let number = 0; number < itemsOfProject; number++)
      await call(`${origin}/api/rules`, headers, {
        name: `Monitor ${number}`,
        q: `channel:channel-${number % 20}`,
        when: { type: "metric", measure: { metric: "events" }, minutes: 5, above: 1e12 },
        to: { everyone: true, members: [], destinations: [] },
      });
  });
  return projects.length * itemsOfProject;
}

/** Fills each project with heartbeats of a period without grace. */
export async function addHeartbeats(projects: WatchedProject[], minutes: number): Promise<WatchedJob[]> {
  const jobs: WatchedJob[] = [];
  await atOnce(projects, async (project) => {
    for (let number = 0; number < itemsOfProject; number++) {
      const slug = `job-${number}`;
      const body = { name: slug, slug, schedule: { type: "period", minutes }, graceMinutes: 0 };
      const path = `${project.origin}/api/heartbeats`;
      const { url } = await call<{ url: string }>(path, headersOf(project.apiKey), body);
      jobs.push({ project, slug, url });
    }
  });
  return jobs;
}

/** Pings each of these jobs once, spread evenly over so long, even if the responses don't keep up. */
export async function pingAll(jobs: WatchedJob[], overMs: number, signal?: AbortSignal): Promise<void> {
  const startMs = performance.now();
  const sent: Promise<void>[] = [];
  let failed = 0;
  for (const [index, { url }] of jobs.entries()) {
    await Bun.sleep(Math.max(0, startMs + (index / jobs.length) * overMs - performance.now()));
    if (signal?.aborted) break;
    sent.push(
      fetch(url).then(
        async (response) => {
          if (!response.ok) failed++;
          await response.arrayBuffer();
        },
        () => {
          failed++;
        },
      ),
    );
  }
  await Promise.all(sent);
  if (failed > 0) throw new Error(`${failed} of ${sent.length} pings failed.`);
}

/** By job, when its next ping is due, in milliseconds since 1970. */
export async function dueTimes(jobs: WatchedJob[]): Promise<Map<WatchedJob, number>> {
  type List = { heartbeats: { slug: string; nextDueAt: string | null }[] };
  const times = new Map<WatchedJob, number>();
  await byProject(jobs, async ({ origin, apiKey }, own) => {
    const { heartbeats } = await call<List>(`${origin}/api/heartbeats`, headersOf(apiKey));
    for (const { slug, nextDueAt } of heartbeats) {
      const job = own.get(slug);
      if (job && nextDueAt !== null) times.set(job, Date.parse(nextDueAt));
    }
  });
  return times;
}

/** By job that is down, when the event says so that was recorded, in milliseconds since 1970. */
export async function downTimes(jobs: WatchedJob[]): Promise<Map<WatchedJob, number>> {
  type List = { events: { createdAt: string; tags: { heartbeat: string } }[] };
  const times = new Map<WatchedJob, number>();
  await byProject(jobs, async ({ origin, apiKey }, own) => {
    const path = `${origin}/api/events?limit=100&q=state%3Ddown`;
    const { events } = await call<List>(path, headersOf(apiKey));
    for (const { createdAt, tags } of events) {
      const job = own.get(tags.heartbeat);
      if (job) times.set(job, Date.parse(createdAt));
    }
  });
  return times;
}

/** Looks at the monitors until the signal is aborted. Returns how late the latest reading was seen to be, in ms. */
export async function watchReadings(projects: WatchedProject[], signal: AbortSignal): Promise<number> {
  type List = { rules: { reading: { nextAt: string } | null }[] };
  let latestMs = 0;
  while (!signal.aborted) {
    for (const { origin, apiKey } of projects) {
      const { rules } = await call<List>(`${origin}/api/rules`, headersOf(apiKey));
      for (const { reading } of rules)
        if (reading) latestMs = Math.max(latestMs, Date.now() - Date.parse(reading.nextAt));
      // So rarely that looking takes nothing from what is measured.
      await Bun.sleep(250);
    }
  }
  return latestMs;
}

async function byProject(
  jobs: WatchedJob[],
  work: (project: WatchedProject, bySlug: Map<string, WatchedJob>) => Promise<void>,
): Promise<void> {
  const projects = Map.groupBy(jobs, ({ project }) => project);
  await atOnce([...projects], ([project, own]) =>
    work(project, new Map(own.map((job) => [job.slug, job] as const))),
  );
}

async function atOnce<Item>(items: Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const left = items.values();
  await Promise.all(
    Array.from({ length: requestsAtOnce }, async () => {
      for (const item of left) await work(item);
    }),
  );
}

function headersOf(apiKey: string): Record<string, string> {
  return { "x-api-key": apiKey, "content-type": "application/json" };
}

/** Gets, or posts a body. Throws unless the response is a success. */
async function call<Body>(url: string, headers: Record<string, string>, body?: object): Promise<Body> {
  const response = await fetch(
    url,
    body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) },
  );
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as Body;
}
