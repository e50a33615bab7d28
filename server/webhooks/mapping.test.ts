/** What mappings make of bodies, hostile ones included. */

import { heapStats } from "bun:jsc";
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { limits } from "../core/limits.ts";
import { checkEvent } from "../event/check-event.ts";
import { isEventId } from "../event/id.ts";
import type { WebhookMapping } from "../schemas/webhook.ts";
import { alertsIn } from "./alertmanager.ts";
import {
  compileCondition,
  compileTemplate,
  ExpressionError,
  type MappingInput,
  textOf,
} from "./expression.ts";
import { githubMappings } from "./github.ts";
import { compileMapping, eventIdOfDelivery, mapEvent } from "./mapping.ts";
import { stripeMappings, stripeValues } from "./stripe.ts";

const invoice = {
  id: "inv_1",
  status: "paid",
  amount: 49.5,
  number: "0012",
  live: false,
  none: null,
  empty: "",
  customer: { id: "cus_1", "full.name": "Ada", tags: ["pro", "eu"] },
  items: [{ plan: "pro" }, { plan: "free" }],
};
const input: MappingInput = { body: invoice, headers: { "x-event": "invoice" } };

const template = (text: string) => compileTemplate(text)(input);
const condition = (text: string) => compileCondition(text)(input);

function mapped(mapping: WebhookMapping, given: MappingInput = input) {
  const compiled = compileMapping(mapping);
  if (Array.isArray(compiled)) throw new Error(JSON.stringify(compiled));
  return mapEvent([compiled], given, "c");
}

test.each([
  ["Invoice paid", "Invoice paid"],
  ["{{amount}}", 49.5],
  ["{{live}}", false],
  ["{{customer.id}} paid {{amount}}", "cus_1 paid 49.5"],
  ['{{customer["full.name"]}}', "Ada"],
  ["{{items[1].plan}}", "free"],
  ["{{$.items[0].plan}}", "pro"],
  ["{{customer.tags}}!", '["pro","eu"]!'],
  ["{{missing ?? none ?? empty ?? id}}", "inv_1"],
  ['{{missing ?? "nobody"}}', "nobody"],
  ["{{@X-Event}}", "invoice"],
  ["{{@x-other}}", undefined],
  ['{{"{{"}}', "{{"],
  ["{{missing}}", undefined],
  ["by {{missing}}", undefined],
  ["{{missing}} {{id}}", " inv_1"],
  ["{{items.length}}", undefined],
  ["{{id.length}}", undefined],
  ["{{constructor.name}}", undefined],
  ["{{__proto__}}", undefined],
  ["{{$.and}}", undefined],
  ["", ""],
])("the template %p makes %p", (text, expected) => {
  expect(template(text)).toEqual(expected as never);
});

test.each([
  ['status == "paid"', true],
  ['status != "paid"', false],
  ["amount > 49 and amount <= 49.5", true],
  ["number == 12", false],
  ["number < 13", true],
  ["live", false],
  ["not live", true],
  ["live == false", true],
  ["none == null", true],
  ["missing == null and empty", false],
  ["missing", false],
  ["missing > 0 or missing <= 0", false],
  ['customer.tags contains "pro"', true],
  ['status contains "ai"', true],
  ['customer contains "id"', false],
  ['live or status == "open" or @x-event == "invoice"', true],
  ['status == "paid" and live or id == "inv_1"', true],
  ['missing ?? "x" == "x"', true],
])("the condition %p is %p", (text, expected) => {
  expect(condition(text)).toBe(expected);
});

test.each([
  ["{{", "character 3: expected a path"],
  ["{{a", 'character 4: "}}" is missing'],
  ["{{a b}}", 'character 4: "}}" is missing'],
  ["{{a ?? }}", 'character 8: expected a path, such as customer.email, not "}}"'],
  ["{{(a)}}", 'character 3: "(" is not understood'],
  ['{{"\\x"}}', "character 3: the text in quotes"],
  ["x {{a}} {{💥}}", 'character 11: "💥" is not understood'],
])("the mistake in the template %p is found at its place", (text, message) => {
  expect(() => compileTemplate(text)).toThrow(message);
});

test.each([
  ["", "character 1: expected a path"],
  ["a ==", "character 5: expected a path"],
  ["a b", "character 3: expected and, or"],
  ["and", "character 1: expected a path"],
])("the mistake in the condition %p is found at its place", (text, message) => {
  expect(() => compileCondition(text)).toThrow(message);
});

test("each mistake of a mapping has the pointer of its field", () => {
  const compiled = compileMapping({
    when: "a ==",
    name: "{{",
    notify: "=",
    tags: { a: "{{a}}", "b/c": "{{" },
  });
  expect((compiled as { pointer: string }[]).map(({ pointer }) => pointer)).toEqual([
    "/when",
    "/notify",
    "/name",
    "/tags/b~1c",
  ]);
});

test("a mapping makes an event, and leaves out what is missing", () => {
  const event = mapped({
    when: 'status == "paid"',
    name: "Invoice\n\t paid",
    userId: "{{customer.id}}",
    icon: "{{missing}}",
    notify: "amount > 10",
    createdAt: "{{created ?? 1767225600}}",
    id: "{{id}}",
    tags: { amount: "{{amount}}", plan: "{{items[0].plan}}", none: "{{none}}" },
  });
  expect(event).toEqual({
    fields: {
      channel: "c",
      name: "Invoice paid",
      userId: "cus_1",
      notify: true,
      createdAt: 1_767_225_600_000,
      tags: { amount: "49.5", plan: "pro" },
    },
    deliveryId: "inv_1",
  });
  expect(mapped({ when: "live", name: "x" })).toBeNull();
});

test("objects that share megabytes are shown in the memory that their beginnings take", () => {
  const notification = { x: "x".repeat(1_000_000), alerts: Array.from({ length: 100 }, (_, id) => ({ id })) };
  const alerts = alertsIn(notification);
  const objects = Array.from({ length: 100 }, () => ({ x: notification.x }));
  const show = compileTemplate("{{$}}");
  const memory = () => {
    Bun.gc(true);
    const { heapSize, extraMemorySize } = heapStats();
    return heapSize + extraMemorySize;
  };
  const before = memory();
  const shown = [...alerts, ...objects].map((body) => show({ body, headers: {} }));
  const texts = shown.map((value) => textOf(value)!);
  expect(memory() - before).toBeLessThan(25_000_000);
  expect(texts[0]).toBe('{"id":0}');
  expect(texts[100]).toStartWith('{"x":"xxx');
  expect(compileTemplate("{{group.x}}")({ body: alerts[0], headers: {} })).toBe(notification.x);
});

test("long texts are shortened between two characters, and rejected by nothing", () => {
  const long = { body: { text: "👋".repeat(20_000) }, headers: {} };
  const event = mapped(
    { name: "{{text}}", description: "{{$}}", tags: { t: "{{text}}" }, icon: "{{text}}" },
    long,
  )!;
  expect([...(event.fields.name as string)]).toHaveLength(limits.nameCharacters);
  expect(event.fields.name).toEndWith("👋…");
  expect(checkEvent(event.fields, Date.now())).toHaveProperty("name");
});

describe("whatever is sent", () => {
  const anyBody = fc.oneof(
    fc.jsonValue({ maxDepth: 6 }),
    fc.dictionary(
      fc.constantFrom("a", "b", "__proto__", "constructor", "toString", "length", "0"),
      fc.oneof(fc.jsonValue(), fc.string({ unit: "binary" })),
    ),
  );
  const paths = fc.constantFrom(
    "{{a}}",
    "{{a.b}}",
    "{{a[0].b}}",
    "{{__proto__.a}}",
    "{{a.constructor.name}}",
    "{{$}}",
    "{{toString}}{{b}}",
    '{{$["__proto__"]}}',
    "{{a ?? b ?? length}}",
  );

  test("a mapping makes a valid event, or leaves the name out", () => {
    const nowMs = Date.UTC(2026, 0, 1);
    fc.assert(
      fc.property(anyBody, paths, paths, paths, (body, name, description, tag) => {
        const given = { body: JSON.parse(JSON.stringify(body)) as unknown, headers: {} };
        const event = mapped({ name, description, tags: { tag, __proto__: tag } }, given)!;
        const checked = checkEvent(event.fields, nowMs);
        if (Array.isArray(checked)) expect(checked.map(({ pointer }) => pointer)).toEqual(["/name"]);
        expect(({} as { a?: unknown }).a).toBeUndefined();
      }),
    );
  });

  test("nothing but the body's own members can be read", () => {
    fc.assert(
      fc.property(
        anyBody,
        fc.constantFrom("constructor", "__proto__", "toString", "valueOf"),
        (body, member) => {
          const json = JSON.parse(JSON.stringify(body)) as unknown;
          const isOwn = typeof json === "object" && json !== null && Object.hasOwn(json, member);
          const value = compileTemplate(`{{$.${member}}}`)({ body: json, headers: {} });
          if (!isOwn) expect(value).toBeUndefined();
          expect(typeof value).not.toBe("function");
        },
      ),
    );
  });

  test("any text compiles or has a mistake", () => {
    const piece = fc.constantFrom(
      "{{",
      "}}",
      "a",
      ".",
      "[0]",
      '"',
      "??",
      "==",
      " and ",
      "not ",
      "@x",
      "$",
      "1",
      "💥",
      "\\",
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(piece, fc.string({ maxLength: 3 })), { maxLength: 20 }), (pieces) => {
        for (const compile of [compileTemplate, compileCondition]) {
          try {
            compile(pieces.join(""))(input);
          } catch (error) {
            expect(error).toBeInstanceOf(ExpressionError);
          }
        }
      }),
    );
  });

  test("a large object that a template names hundreds of times is serialized once", () => {
    const large = { body: { a: Array.from({ length: 10_000 }, (_, index) => `item ${index}`) }, headers: {} };
    let reads = 0;
    Object.defineProperty(large.body.a, "toJSON", {
      value() {
        reads++;
        return "x";
      },
    });
    mapped({ name: "{{a}}".repeat(300), tags: { t: "{{a}}".repeat(300) } }, large);
    expect(reads).toBe(1);
  });
});

test("an id of a delivery is a UUIDv7, the same for the same delivery of the same webhook only", () => {
  const webhook = { id: "w1", createdAt: Date.UTC(2026, 0, 1) };
  const own = Bun.randomUUIDv7();
  expect(eventIdOfDelivery(own.toUpperCase(), webhook)).toBe(own);
  fc.assert(
    fc.property(fc.string(), fc.string(), (one, other) => {
      const id = eventIdOfDelivery(one, webhook);
      expect(isEventId(id)).toBe(true);
      expect(eventIdOfDelivery(other, webhook) === id).toBe(one === other);
      expect(eventIdOfDelivery(one, { ...webhook, id: "w2" })).not.toBe(id);
    }),
  );
});

describe("ready mappings", () => {
  const ready = (mappings: WebhookMapping[]) =>
    mappings.map((mapping) => {
      const compiled = compileMapping(mapping);
      if (Array.isArray(compiled)) throw new Error(JSON.stringify(compiled));
      return compiled;
    });
  const stripe = ready(stripeMappings);
  const github = ready(githubMappings);
  const ofStripe = (body: object) => mapEvent(stripe, { body, headers: stripeValues(body) }, "c")!.fields;
  const ofGithub = (event: string, body: object) =>
    mapEvent(github, { body, headers: { "x-github-event": event } }, "c")?.fields;

  test("Stripe's payments have an amount in their currency and the customer as user", () => {
    const payment = (amount: number, currency: string) => ({
      id: "evt_1",
      type: "payment_intent.succeeded",
      created: 1_767_225_600,
      livemode: true,
      data: { object: { id: "pi_1", object: "payment_intent", amount, currency, customer: "cus_1" } },
    });
    expect(ofStripe(payment(4_950, "eur"))).toMatchObject({
      name: "Payment succeeded",
      userId: "cus_1",
      createdAt: 1_767_225_600_000,
      tags: { amount: "49.50", currency: "eur", object: "pi_1", livemode: "true" },
    });
    expect(ofStripe(payment(4_950, "jpy")).tags).toMatchObject({ amount: "4950" });
    expect(ofStripe(payment(4_950, "kwd")).tags).toMatchObject({ amount: "4.950" });
  });

  test("Stripe's other types are recorded by their type", () => {
    expect(ofStripe({ type: "radar.early_fraud_warning.created", data: { object: {} } })).toMatchObject({
      name: "radar.early_fraud_warning.created",
    });
  });

  test("GitHub's common events have names, and actions of little interest are ignored", () => {
    const common = {
      sender: { login: "ada" },
      repository: { full_name: "ada/engine", html_url: "https://g/ada" },
    };
    const pull = { number: 7, title: "Add a wheel", html_url: "https://g/7", head: { ref: "wheel" } };
    const merged = { ...common, action: "closed", pull_request: { ...pull, merged: true } };
    expect(ofGithub("pull_request", merged)).toMatchObject({
      name: "Pull request merged",
      userId: "ada",
      description: "Add a wheel",
      tags: { repository: "ada/engine", number: "7", branch: "wheel", url: "https://g/7" },
    });
    expect(ofGithub("pull_request", { ...merged, pull_request: pull })).toMatchObject({
      name: "Pull request closed",
    });
    expect(ofGithub("pull_request", { ...merged, action: "labeled" })).toBeUndefined();
    expect(ofGithub("push", { ...common, deleted: true })).toBeUndefined();
    expect(
      ofGithub("workflow_run", { ...common, action: "completed", workflow_run: { conclusion: "failure" } }),
    ).toMatchObject({
      name: "Workflow failed",
      notify: true,
    });
    expect(ofGithub("watch", { ...common, action: "started" })).toMatchObject({
      name: "watch",
      tags: { action: "started" },
    });
  });
});
