// @engines postgres
// @long
/** Several nodes on one database: what happens on one takes effect on the others. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { commandActor } from "../audit/audit-log.ts";
import { createAccount } from "../auth/create-account.ts";
import { addBrowser } from "../notifications/account-destinations.ts";
import type { PushSubscription } from "../notifications/push.ts";
import { createProject } from "../projects/projects.ts";
import type { Job } from "../schemas/job.ts";
import type { NewKey } from "../schemas/key.ts";
import type { Store } from "../storage/store.ts";
import { expectConsistent } from "../testing/consistency.ts";
import {
  environmentOf,
  makeStorage,
  removeStorage,
  type TestStorage,
  testSecrets,
} from "../testing/engine.ts";
import { openStream } from "../testing/event-stream.ts";
import { pushService } from "../testing/push-service.ts";
import { startServer } from "../testing/server-process.ts";
import { openTestStore, prepare, testConfig, testPassword, testPasswords } from "../testing/test-app.ts";
import { until } from "../testing/until.ts";

type Node = Awaited<ReturnType<typeof startServer>>;

/** More than the second after which each node looks again. */
const soonMs = 1_500;

describe("nodes on one database", () => {
  let storage: TestStorage;
  let nodes: Node[];
  let key: string;
  let cookie: string;

  beforeAll(async () => {
    storage = await makeStorage("postgres");
    const config = await testConfig(storage);
    ({ secret: key } = await prepare(config));
    nodes = await Promise.all([startNode(), startNode()]);
    cookie = await signIn(nodes[0]!, "owner@example.com");
  });
  afterAll(async () => {
    for (const node of nodes) await node.end("SIGTERM");
    await removeStorage(storage);
  });

  const startNode = () => startServer({ ...environmentOf(storage), TIDINGS_ALLOW_PRIVATE_ADDRESSES: "true" });

  function request(node: Node, path: string, init: RequestInit = {}, secret?: string): Promise<Response> {
    const headers = new Headers(init.headers);
    if (secret !== undefined) headers.set("x-api-key", secret);
    return fetch(node.address + path, { ...init, headers });
  }
  const asKey = (node: Node, secret: string) => ({
    request: (path: string, init: RequestInit = {}) => request(node, path, init, secret),
  });
  const asSession = (node: Node, session: string) => ({
    request: (path: string, { headers, ...init }: RequestInit = {}) =>
      request(node, path, {
        ...init,
        headers: { ...(headers as object), cookie: session, origin: node.address },
      }),
  });
  const send = (node: Node, session: string, method: string, path: string, body?: unknown) =>
    asSession(node, session).request(path, {
      method,
      ...(body !== undefined && {
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      }),
    });

  async function signIn(node: Node, email: string): Promise<string> {
    const response = await fetch(`${node.address}/api/auth/sign-in/email`, {
      method: "POST",
      headers: { "content-type": "application/json", origin: node.address },
      body: JSON.stringify({ email, password: testPassword }),
    });
    return response.headers.getSetCookie()[0]!.split(";")[0]!;
  }

  /** Another project with a member of its own. */
  async function another(name: string, email: string): Promise<{ slug: string; session: string }> {
    const store = await openTestStore(await testConfig(storage));
    const passwordHash = await testPasswords.hash(testPassword);
    const { slug } = await store.control.transaction().execute(async (transaction) => {
      const account = await createAccount(
        transaction,
        { email, password: testPassword },
        passwordHash,
        null,
        commandActor,
      );
      return (await createProject(transaction, name, account.id)).project;
    });
    await store.close();
    return { slug, session: await signIn(nodes[0]!, email) };
  }

  /** Resolves when the stream ends; throws if that takes too long. */
  async function ends(stream: Awaited<ReturnType<typeof openStream>>): Promise<void> {
    while ((await stream.next()) !== null);
  }

  /** Resolves when a node rejects a key, which it looks up again every second. */
  const rejected = (node: Node, secret: string) =>
    until(async () => (await asKey(node, secret).request("/api/channels")).status !== 200);

  /** Records an event. */
  const record = (node: Node, secret: string) =>
    asKey(node, secret).request("/api/events", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ channel: "c", name: "n" }),
    });

  async function newKey(
    settings: Partial<NewKey> = {},
    { slug, session } = { slug: "default", session: cookie },
  ): Promise<{ id: string; secret: string }> {
    const path = `/api/keys?project=${slug}`;
    const response = await send(nodes[0]!, session, "POST", path, { name: "n", ...settings });
    const { key, secret } = (await response.json()) as { key: { id: string }; secret: string };
    return { id: key.id, secret };
  }

  test("a session is valid on every node", async () => {
    for (const node of nodes) {
      expect((await asSession(node, cookie).request("/api/me")).status).toBe(200);
    }
  });

  test("a stolen session ends on all nodes, with its stream, when the password changes on one", async () => {
    const [one, other] = nodes as [Node, Node];
    const { session } = await another("Stolen", "stolen@example.com");
    const own = await signIn(one, "stolen@example.com");
    using stream = await openStream(asSession(other, session));
    const changed = await send(one, own, "POST", "/api/auth/change-password", {
      currentPassword: testPassword,
      newPassword: "only mine again",
    });
    expect(changed.status).toBe(200);
    expect((await asSession(other, session).request("/api/me")).status).toBe(401);
    await ends(stream);
  });

  test("a key revoked on one is rejected by the other, and its streams end", async () => {
    const [one, other] = nodes as [Node, Node];
    const { id, secret } = await newKey();
    using stream = await openStream(asKey(other, secret));
    using mine = await openStream(asKey(other, key));
    expect((await stream.next())?.type).toBe("ready");
    expect((await send(one, cookie, "DELETE", `/api/keys/${id}`)).status).toBe(200);
    await rejected(other, secret);
    await ends(stream);
    // No other stream ends.
    expect((await mine.next())?.type).toBe("ready");
    expect(await Promise.race([mine.next(), Bun.sleep(soonMs).then(() => "open")])).toBe("open");
  });

  test("a key that is used all the time is rejected, too", async () => {
    const [one, other] = nodes as [Node, Node];
    const { id, secret } = await newKey();
    const used = () => asKey(other, secret).request("/api/channels");
    expect((await used()).status).toBe(200);
    expect((await send(one, cookie, "DELETE", `/api/keys/${id}`)).status).toBe(200);
    await until(async () =>
      (await Promise.all(Array.from({ length: 8 }, used))).every((r) => r.status === 401),
    );
  });

  test("a key that may no longer read loses its streams on the other", async () => {
    const [one, other] = nodes as [Node, Node];
    const { id, secret } = await newKey();
    using stream = await openStream(asKey(other, secret));
    await stream.next("ready");
    expect((await send(one, cookie, "PATCH", `/api/keys/${id}`, { scopes: ["ingest"] })).status).toBe(200);
    await ends(stream);
    await rejected(other, secret);
  });

  test("a key's rate limit is one for all", async () => {
    const { secret } = await newKey({ eventsPerSecond: 2 });
    const sent = await Promise.all(Array.from({ length: 30 }, (_, n) => record(nodes[n % 2]!, secret)));
    expect(sent.filter(({ status }) => status === 201)).toHaveLength(20);
    // Each node tells by itself when the window ends.
    for (const { status, headers } of sent.filter(({ status }) => status !== 201)) {
      expect(status).toBe(429);
      expect(Number(headers.get("retry-after"))).toBeWithin(1, 11);
    }
  });

  test("a project's daily quota is one for all, a second's events aside", async () => {
    const limited = await another("Quota", "quota@example.com");
    const [one, other] = nodes as [Node, Node];
    const { secret } = await newKey({}, limited);
    const change = { eventsPerDay: 10 };
    await send(one, limited.session, "PATCH", `/api/projects/${limited.slug}`, change);
    for (let sent = 0; sent < 6; sent++) expect((await record(one, secret)).status).toBe(201);
    const { control, close } = await openTestStore(await testConfig(storage));
    const counted = control
      .selectFrom("dailyEvents")
      .innerJoin("projects", "projects.id", "dailyEvents.projectId")
      .select("events")
      .where("slug", "=", limited.slug);
    await until(async () => (await counted.executeTakeFirst())?.events === 6);
    await close();
    const statuses = [];
    for (let sent = 0; sent < 6; sent++) statuses.push((await record(other, secret)).status);
    expect(statuses).toEqual([201, 201, 201, 201, 429, 429]);
    await until(async () => (await record(one, secret)).status === 429);
  });

  test("signing out on one ends the session's streams on the other", async () => {
    const [one, other] = nodes as [Node, Node];
    const session = await signIn(one, "owner@example.com");
    using stream = await openStream(asSession(other, session));
    expect((await send(one, session, "POST", "/api/auth/sign-out", {})).status).toBe(200);
    await ends(stream);
    expect((await asSession(other, session).request("/api/me")).status).toBe(401);
  });

  test("a member removed on one has no access to the other, and the streams there end", async () => {
    const [one, other] = nodes as [Node, Node];
    const { slug, session: owner } = await another("Team", "head@example.com");
    const { session: member } = await another("Elsewhere", "member@example.com");
    const path = `?project=${slug}`;
    const invited = await send(one, owner, "POST", `/api/invitations${path}`, { role: "viewer" });
    const { link } = (await invited.json()) as { link: string };
    const token = link.split("/").at(-1);
    // Accepted on the node that didn't make the link.
    const joined = await send(other, member, "POST", `/api/invitations/token/${token}/accept`);
    expect(joined.status).toBe(200);
    const { members } = (await (await asSession(other, member).request(`/api/members${path}`)).json()) as {
      members: { id: string; email: string }[];
    };
    const { id } = members.find(({ email }) => email === "member@example.com")!;
    using stream = await openStream(asSession(other, member), path);
    expect((await send(one, owner, "DELETE", `/api/members/${id}${path}`)).status).toBe(200);
    expect((await asSession(other, member).request(`/api/channels${path}`)).status).toBe(404);
    await ends(stream);
  });

  test("an event and a channel deleted on one disappear from the other's streams", async () => {
    const [one, other] = nodes as [Node, Node];
    const recorded = await asKey(one, key).request("/api/events", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ channel: "doomed", name: "n" }),
    });
    const { event } = (await recorded.json()) as { event: { id: string } };
    using stream = await openStream(asKey(other, key));
    await stream.next("ready");
    const nextDeleted = async () => JSON.parse((await stream.next("deleted"))!.data);
    const gone = { method: "DELETE" };
    expect((await asKey(one, key).request(`/api/events/${event.id}`, gone)).status).toBe(200);
    expect(await nextDeleted()).toEqual({ ids: [event.id] });
    expect((await asKey(one, key).request("/api/channels/doomed", gone)).status).toBe(202);
    expect(await nextDeleted()).toEqual({ channels: ["doomed"] });
  });

  test("a project deleted on one is gone from the other, with its streams", async () => {
    const [one, other] = nodes as [Node, Node];
    const { slug, session } = await another("Doomed", "doomed@example.com");
    const path = `?project=${slug}`;
    const created = await send(one, session, "POST", `/api/keys${path}`, { name: "n" });
    const { secret } = (await created.json()) as { secret: string };
    using ofKey = await openStream(asKey(other, secret));
    using ofMember = await openStream(asSession(other, session), path);
    const gone = await send(one, session, "DELETE", `/api/projects/${slug}?confirm=${slug}`);
    expect(gone.status).toBe(202);
    await Promise.all([rejected(other, secret), ends(ofKey), ends(ofMember)]);
    expect((await asSession(other, session).request(`/api/channels${path}`)).status).toBe(404);
  });
});

describe("nodes that share work", () => {
  let storage: TestStorage;
  let key: string;
  let nodes: Node[] = [];
  const settings = { TIDINGS_ALLOW_PRIVATE_ADDRESSES: "true" };

  beforeEach(async () => {
    storage = await makeStorage("postgres");
    ({ secret: key } = await prepare(await testConfig(storage)));
  });
  afterEach(async () => {
    for (const node of nodes) await node.end("SIGTERM");
    nodes = [];
    await removeStorage(storage);
  });

  async function start(): Promise<Node> {
    const node = await startServer({ ...environmentOf(storage), ...settings });
    nodes.push(node);
    return node;
  }
  async function kill(node: Node): Promise<void> {
    await node.end("SIGKILL");
    nodes = nodes.filter((other) => other !== node);
  }

  async function withStore<Result>(work: (store: Store) => Promise<Result>): Promise<Result> {
    const store = await openTestStore(await testConfig(storage));
    try {
      return await work(store);
    } finally {
      await store.close();
    }
  }
  /** Registers the owner's browser for notifications. */
  const addOwnersBrowser = (subscription: PushSubscription) =>
    withStore(async ({ control }) => {
      const { id } = await control.selectFrom("accounts").select("id").executeTakeFirstOrThrow();
      await addBrowser(control, testSecrets, id, { kind: "browser", label: "b", subscription });
    });
  const deliveries = () =>
    withStore(({ control }) =>
      control.selectFrom("deliveries").selectAll().where("kind", "=", "browser").execute(),
    );

  const post = (node: Node, body: unknown) =>
    fetch(`${node.address}/api/events`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": key },
      body: JSON.stringify(body),
    });

  test("send each notification once", async () => {
    await using service = pushService();
    await addOwnersBrowser(service.subscribe());
    const both = [await start(), await start(), await start()];
    const count = 60;
    await Promise.all(
      Array.from({ length: count }, async (_, n) => {
        const event = { id: Bun.randomUUIDv7(), channel: "c", name: `n${n}`, notify: true };
        // 503 on a machine that is too busy.
        await until(async () => [200, 201].includes((await post(both[n % both.length]!, event)).status));
      }),
    );
    const titles = new Set<string>();
    for (let n = 0; n < count; n++) {
      const { payload } = await service.next();
      titles.add((payload as { title: string }).title);
    }
    expect(titles.size).toBe(count);
    let rows = await deliveries();
    while (rows.some(({ state }) => state === "waiting")) {
      await Bun.sleep(50);
      rows = await deliveries();
    }
    expect(rows.map(({ state, attempts }) => `${state} ${attempts}`)).toEqual(
      Array(count).fill("delivered 1"),
    );
  });

  test("send what a killed node was sending", async () => {
    // It accepts messages without responding.
    let asked = () => {};
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    let isDeaf = true;
    await using service = pushService();
    const subscription = service.subscribe();
    const { pathname } = new URL(subscription.endpoint);
    const before = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      async fetch() {
        asked();
        if (isDeaf) await new Promise(() => {});
        return new Response(null, { status: 201 });
      },
    });
    await addOwnersBrowser({ ...subscription, endpoint: `${before.url.origin}${pathname}` });
    const first = await start();
    expect((await post(first, { channel: "c", name: "n", notify: true })).status).toBe(201);
    await isAsked;
    await kill(first);
    const [claimed] = await deliveries();
    expect(claimed).toMatchObject({ state: "waiting", attempts: 1 });
    expect(claimed!.nextAttemptAt).toBeGreaterThan(Date.now());
    // As if its lease had expired.
    await withStore(({ control }) =>
      control
        .updateTable("deliveries")
        .set({ nextAttemptAt: Date.now() })
        .where("id", "=", claimed!.id)
        .execute(),
    );
    isDeaf = false;
    await start();
    let [row] = await deliveries();
    while (row!.state === "waiting") {
      await Bun.sleep(50);
      [row] = await deliveries();
    }
    expect(row).toMatchObject({ state: "delivered", attempts: 2 });
    await before.stop(true);
  });

  test("continue the job of a killed node, and count what it did", async () => {
    const [first, second] = [await start(), await start()];
    const total = 4_000;
    for (let n = 0; n < total; n += 1_000) {
      const events = Array.from({ length: 1_000 }, () => ({ channel: "c", name: "n", userId: "u1" }));
      expect((await post(first, events)).status).toBe(201);
    }
    const erasing = await fetch(`${first.address}/api/users/u1`, {
      method: "DELETE",
      headers: { "x-api-key": key },
    });
    const { job } = (await erasing.json()) as { job: Job };
    const look = async (node: Node) => {
      const response = await fetch(`${node.address}/api/jobs/${job.id}`, { headers: { "x-api-key": key } });
      return ((await response.json()) as { job: Job }).job;
    };
    while ((await look(second)).done === 0) await Bun.sleep(5);
    await kill(first);
    const left = await look(second);
    expect(left).toMatchObject({ state: "running", total });
    expect(left.done).toBeLessThan(total);
    const killedMs = performance.now();
    while ((await look(second)).state !== "done") await Bun.sleep(100);
    expect(performance.now() - killedMs).toBeLessThan(45_000);
    expect((await look(second)).receipt).toMatchObject({ erasedEvents: total });
    await expectConsistent(storage);
  }, 600_000);
});

describe("nodes on an empty database", () => {
  test("that start together print setup links that all work until one is used", async () => {
    const storage = await makeStorage("postgres");
    const nodes = await Promise.all(Array.from({ length: 3 }, () => startServer(environmentOf(storage))));
    const claim = (node: Node, on: Node) => {
      const token = new URL(/http[^"]+setup\?token=[^"]+/.exec(node.stdout)![0]).searchParams.get("token");
      return fetch(`${on.address}/api/setup`, {
        method: "POST",
        headers: { "content-type": "application/json", origin: on.address },
        body: JSON.stringify({ token, email: `${crypto.randomUUID()}@example.com`, password: testPassword }),
      });
    };
    await nodes[0]!.end("SIGTERM");
    expect((await claim(nodes[0]!, nodes[1]!)).status).toBe(403);
    const claims = await Promise.all([claim(nodes[1]!, nodes[2]!), claim(nodes[2]!, nodes[1]!)]);
    expect(claims.map(({ status }) => status).sort()).toEqual([201, 409]);
    for (const node of nodes.slice(1)) await node.end("SIGTERM");
    await removeStorage(storage);
  });
});
