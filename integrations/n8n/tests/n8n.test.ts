// @long
/** The nodes in n8n's own engine, against a real server: built and packed as they are published. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { installOnce } from "../../../client/src/testing/install-once.ts";
import { type TestApp, testApp } from "../../../server/testing/test-app.ts";
import { createTestKey } from "../../../server/testing/test-key.ts";
import { until } from "../../../server/testing/until.ts";
import { type Credentials, engineVersions, loadNodes, packInto } from "./n8n.ts";

const directory = await installOnce("tidings-n8n", engineVersions);
if (directory === null)
  console.log("Skipped: the nodes for n8n, because n8n's engine can't be installed here.");

describe.skipIf(directory === null)("in n8n", () => {
  let app: TestApp;
  let nodes: Awaited<ReturnType<typeof loadNodes>>;
  let folder: string;
  let credentials: Credentials;

  beforeAll(async () => {
    app = await testApp();
    folder = await packInto(directory!);
    nodes = await loadNodes(directory!, join(folder, "package"));
    credentials = { url: `${app.address}/`, apiKey: await keyWith(["ingest", "read", "manage"]) };
  }, 600_000);
  afterAll(async () => {
    if (folder) rmSync(folder, { recursive: true, force: true });
    await app?.[Symbol.asyncDispose]();
  });

  async function keyWith(scopes: ("ingest" | "read" | "manage")[]): Promise<string> {
    const { control } = app.running.store;
    const { id } = await control.selectFrom("projects").select("id").limit(1).executeTakeFirstOrThrow();
    return createTestKey(control, id, { name: `n8n ${scopes.join(" ")}`, scopes });
  }
  const record = (fields: object) => ({ resource: "event", operation: "record", ...fields });
  const getMany = (fields: object) => ({ resource: "event", operation: "getAll", ...fields });
  const messageOf = (failing: Promise<unknown>) =>
    failing.catch(({ message, description }) => `${message} ${description}`);
  const named = (name: string) => record({ channel: "orders", name });

  test("the package has what n8n loads, with icons", () => {
    for (const name of ["tidings", "tidingsTrigger"])
      expect(nodes.typeOf(name).description.iconUrl).toMatch(/^icons\/n8n-nodes-tidings\/dist\/.+\.svg$/);
    expect(nodes.credentialType.iconUrl).toEndWith("/tidings.svg");
  });

  describe("a credential", () => {
    test("is fine for each key of the project", async () => {
      for (const scopes of [["ingest"], ["read"], ["ingest", "read", "manage"]] as const) {
        const apiKey = await keyWith([...scopes]);
        expect(await nodes.testCredential({ ...credentials, apiKey })).toBeNull();
      }
    });

    test("of another key, or with another address, says what is wrong", async () => {
      const wrong = await nodes.testCredential({ ...credentials, apiKey: "tdg_sk_wrong" });
      expect(wrong).toMatch(/401|Authorization|Tidings API key/);
      const site = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("<p>A site</p>") });
      expect(await nodes.testCredential({ ...credentials, url: site.url.origin })).toBe(
        "There is no Tidings at this URL",
      );
      await site.stop(true);
      expect(await nodes.testCredential({ ...credentials, url: site.url.origin })).not.toBeNull();
    });
  });

  describe("the action node", () => {
    test("records an event with all fields", async () => {
      const [event] = await nodes.run(
        record({
          channel: "orders",
          name: "Order placed",
          tags: {
            tag: [
              { key: "plan", value: "pro" },
              { key: "total.eur", value: 49.5 },
            ],
          },
          additionalFields: {
            // As n8n's picker writes it, for a workflow in Berlin.
            createdAt: "2026-01-31T10:30:00",
            description: "**Paid**",
            icon: "🛒",
            notify: true,
            userId: 42,
          },
        }),
        credentials,
      );
      expect(event).toMatchObject({
        channelId: "orders",
        name: "Order placed",
        userId: "42",
        icon: "🛒",
        notify: true,
        tags: { plan: "pro", "total.eur": "49.5" },
        createdAt: "2026-01-31T09:30:00.000Z",
        description: "**Paid**",
      });
      expect(await app.list(`?channel=orders&name=${encodeURIComponent("Order placed")}`)).toEqual([
        event as never,
      ]);
    });

    test("records each item, with expressions, and only once if n8n tries again", async () => {
      const items = [1, 2, 3].map((number) => ({ json: { number } }));
      const events = await nodes.run(
        record({
          channel: "items",
          name: "=Item {{ $json.number }}",
          tags: { tag: [{ key: "n", value: "={{ $json.number }}" }] },
        }),
        credentials,
        items,
      );
      expect(events.map(({ name, tags }) => [name, tags])).toEqual([
        ["Item 1", { n: "1" }],
        ["Item 2", { n: "2" }],
        ["Item 3", { n: "3" }],
      ]);
      const [first, second] = await nodes.runTwice(record({ channel: "again", name: "Once" }), credentials);
      expect(second!.id).toBe(first!.id);
      expect(await app.list("?channel=again")).toHaveLength(1);
      await nodes.run(record({ channel: "again", name: "Once" }), credentials);
      expect(await app.list("?channel=again")).toHaveLength(2);
    });

    test("fails with what Tidings says", async () => {
      const long = nodes.run(named("x".repeat(201)), credentials);
      expect(await messageOf(long)).toContain('"name" must have at most 200 characters, not 201');
      const apiKey = await keyWith(["read"]);
      const refused = nodes.run(named("Refused"), { ...credentials, apiKey });
      expect(await messageOf(refused)).toContain("ingest");
    });

    test("lists events: a page, all of them, and those of filters", async () => {
      const events = Array.from({ length: 2_100 }, (_, number) => ({
        channel: "many",
        name: `Event ${number % 2}`,
        userId: `u${number % 3}`,
        tags: { number: String(number) },
      }));
      for (let start = 0; start < events.length; start += 700)
        await app.post(events.slice(start, start + 700));
      const list = async (fields: object) =>
        (await nodes.run(getMany(fields), credentials)).map(({ tags }) =>
          Number((tags as { number: string }).number),
        );
      expect(await list({ limit: 3, filters: { channel: "many" } })).toEqual([2_099, 2_098, 2_097]);
      const all = await list({ returnAll: true, filters: { channel: "many", order: "asc" } });
      expect(all).toEqual(events.map((_, number) => number));
      expect(await list({ limit: 2, filters: { name: "Event 1", userId: "u2", q: "number=5" } })).toEqual([
        5,
      ]);
      expect(await list({ filters: { channel: "many", to: "2026-01-01T00:00:00" } })).toEqual([]);
    });
  });

  describe("the trigger", () => {
    type Trigger = ReturnType<typeof nodes.trigger>;
    let hook: Bun.Server<undefined> | undefined;
    let received: Awaited<ReturnType<Trigger["receive"]>>[];
    let requests: Request[];
    afterEach(() => hook?.stop(true));

    /** The trigger in a workflow, whose address answers as n8n's does. */
    function publish(parameters: object): Trigger {
      received = [];
      requests = [];
      hook = Bun.serve({
        port: 0,
        hostname: "127.0.0.1",
        async fetch(request) {
          requests.push(request.clone() as Request);
          const result = await trigger.receive(request);
          received.push(result);
          return new Response(null, { status: result.status });
        },
      });
      const trigger = nodes.trigger({ ...parameters }, credentials, `${hook.url}webhook/0192f0c1/webhook`);
      return trigger;
    }
    const listed = async (path: string) => {
      const response = await app.request(path, {}, credentials.apiKey);
      return Object.values((await response.json()) as object).find(Array.isArray) as {
        id: string;
        name: string;
      }[];
    };

    /** The names of rules that the project doesn't have from the start. */
    async function ownRules(): Promise<string[]> {
      const names = (await listed("/api/rules")).map(({ name }) => name);
      return names.filter((name) => name !== "Events sent with notify");
    }

    test("starts with the events of a search, and leaves nothing behind", async () => {
      const trigger = publish({ startOn: "search", q: "channel:orders plan=pro" });
      expect(await trigger.checkExists()).toBe(false);
      await trigger.create();
      expect(await trigger.checkExists()).toBe(true);
      const [destination] = await listed("/api/project-destinations");
      expect(destination!.name).toMatch(/^Orders \(n8n [0-9a-f]{6}\)$/);
      expect(await ownRules()).toEqual([destination!.name]);

      await app.post({ channel: "orders", name: "Ignored", tags: { plan: "free" } });
      await app.post({ channel: "orders", name: "Order placed", tags: { plan: "pro" } });
      await until(() => received.length > 0);
      expect(received).toEqual([
        {
          status: 200,
          items: [
            {
              json: expect.objectContaining({
                id: requests[0]!.headers.get("webhook-id"),
                type: "event.created",
                data: expect.objectContaining({ event: expect.objectContaining({ name: "Order placed" }) }),
              }),
            },
          ],
        },
      ]);

      const [request] = requests;
      const again = (change: { headers?: Record<string, string>; body?: string }) => {
        const headers = new Headers(request!.headers);
        for (const [name, value] of Object.entries(change.headers ?? {})) headers.set(name, value);
        return trigger.receive(
          new Request(hook!.url, { method: "POST", headers, body: change.body ?? "{}" }),
        );
      };
      expect(await again({})).toEqual({ status: 401, items: undefined });
      expect(await again({ headers: { "webhook-signature": "" } })).toEqual({
        status: 401,
        items: undefined,
      });

      await trigger.delete();
      expect(await listed("/api/project-destinations")).toEqual([]);
      expect(await ownRules()).toEqual([]);
      expect(trigger.staticData()).toEqual({});
      expect(await again({ body: await request!.text() })).toEqual({ status: 401, items: undefined });
      // What somebody deleted by hand is no error.
      await trigger.create();
      const [left] = await listed("/api/project-destinations");
      await app.request(`/api/project-destinations/${left!.id}`, { method: "DELETE" }, credentials.apiKey);
      expect(await trigger.checkExists()).toBe(false);
      await trigger.delete();
      expect(await ownRules()).toEqual([]);
    });

    test("starts with the messages of a rule, which stays", async () => {
      const created = await app.request(
        "/api/rules",
        {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({
            name: "Refunds",
            q: "channel:refunds",
            when: { type: "each" },
            to: { everyone: true, members: [], destinations: [] },
          }),
        },
        credentials.apiKey,
      );
      const { rule } = (await created.json()) as { rule: { id: string } };
      const choice = { name: "Refunds", value: rule.id };
      expect(await nodes.optionsOf("tidingsTrigger", "ruleId", credentials)).toContainEqual(choice);
      const trigger = publish({ startOn: "rule", ruleId: rule.id });
      await trigger.create();
      await app.post({ channel: "refunds", name: "Refund" });
      await until(() => received.length > 0);
      expect(received[0]!.items![0]!.json).toMatchObject({
        data: { rule: { id: rule.id, name: "Refunds" } },
      });
      await trigger.delete();
      expect(await ownRules()).toEqual(["Refunds"]);
      expect(await listed("/api/project-destinations")).toEqual([]);
    });

    test("that can't add its rule adds nothing, and says why", async () => {
      const trigger = publish({ startOn: "search", q: "plan:" });
      expect(await messageOf(trigger.create())).toMatch(/"q"|search/i);
      expect(await listed("/api/project-destinations")).toEqual([]);
      expect(trigger.staticData()).toEqual({});
      const apiKey = await keyWith(["ingest", "read"]);
      const refused = nodes.trigger(
        { startOn: "search", q: "" },
        { ...credentials, apiKey },
        "http://127.0.0.1:1/",
      );
      expect(await messageOf(refused.create())).toContain("manage");
    });
  });
});
