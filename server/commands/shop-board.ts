import type { Kysely } from "kysely";
import { createAnnotation } from "../annotations/annotations.ts";
import { commandActor } from "../audit/audit-log.ts";
import { makeChange } from "../audit/changes.ts";
import { createBoard } from "../boards/boards.ts";
import { isoOf } from "../core/iso.ts";
import { setInsight } from "../insights/insights.ts";
import type { NewAnnotation } from "../schemas/annotation.ts";
import type { Tile } from "../schemas/tile.ts";
import type { ControlTables } from "../storage/control-tables.ts";

const dayMs = 24 * 60 * 60 * 1_000;
const name = "Shop";

const revenue = { q: 'name:"Payment received"', metric: "sum", tag: "amount" } as const;

/** What somebody who runs the shop would look at. */
const tiles: Tile[] = [
  { id: "revenue", type: "number", title: "Revenue in €", x: 0, y: 0, w: 3, h: 2, ...revenue },
  {
    id: "buyers",
    type: "number",
    title: "Buyers",
    x: 3,
    y: 0,
    w: 3,
    h: 2,
    q: "channel:orders",
    metric: "users",
  },
  { id: "subscribers", type: "value", title: "Subscribers", x: 6, y: 0, w: 3, h: 2, key: "subscribers" },
  {
    id: "failed",
    type: "number",
    title: "Failed payments",
    x: 9,
    y: 0,
    w: 3,
    h: 2,
    q: 'name:"Payment failed"',
    metric: "events",
  },
  {
    id: "by-country",
    type: "bar",
    title: "Orders by country",
    x: 0,
    y: 2,
    w: 8,
    h: 5,
    q: "channel:orders",
    metric: "events",
    split: "tag.country",
    limit: 5,
  },
  {
    id: "funnel",
    type: "funnel",
    title: "From sign-up to payment",
    x: 8,
    y: 2,
    w: 4,
    h: 5,
    steps: ['name:"Account created"', 'name:"Order placed"', 'name:"Payment received"'],
    windowSeconds: 30 * 24 * 60 * 60,
    show: "steps",
  },
  {
    id: "products",
    type: "table",
    title: "Products",
    x: 0,
    y: 7,
    w: 4,
    h: 5,
    q: "channel:orders",
    metric: "events",
    split: "tag.product",
    limit: 10,
  },
  {
    id: "retention",
    type: "retention",
    title: "Buyers who return",
    x: 4,
    y: 7,
    w: 4,
    h: 5,
    q: "channel:orders",
    again: "channel:orders",
    first: "ever",
  },
  {
    id: "after-orders",
    type: "paths",
    title: "After an order",
    x: 0,
    y: 12,
    w: 12,
    h: 6,
    anchor: 'name:"Order placed"',
    direction: "after",
    length: 4,
    windowSeconds: 7 * 24 * 60 * 60,
    names: 5,
    repeats: "merge",
    q: "",
  },
  {
    id: "times",
    type: "funnel",
    title: "Time from sign-up to payment",
    x: 0,
    y: 18,
    w: 6,
    h: 6,
    steps: ['name:"Account created"', 'name:"Order placed"', 'name:"Payment received"'],
    windowSeconds: 30 * 24 * 60 * 60,
    show: "times",
  },
  { id: "stickiness", type: "stickiness", title: "", x: 6, y: 18, w: 6, h: 6, q: "channel:logins" },
  {
    id: "lifecycle",
    type: "lifecycle",
    title: "New and returning buyers",
    x: 0,
    y: 24,
    w: 12,
    h: 4,
    q: "channel:orders",
    first: "ever",
  },
  { id: "problems", type: "feed", title: "Problems", x: 8, y: 7, w: 4, h: 5, q: "channel:errors,support" },
];

/** What the shop's charts mark: deployments of its checkout, and two things that the team remembers. */
function annotationsOf(board: string, nowMs: number): NewAnnotation[] {
  const dayBefore = (days: number) => isoOf(nowMs - days * dayMs).slice(0, 10);
  const note = { type: "note", icon: null } as const;
  return [
    {
      ...{ type: "events", name: "Checkout", icon: "🚀", color: 6, enabled: true },
      q: 'name:"Deployed to production" service=checkout',
    },
    { ...note, name: "Newsletter to all customers", icon: "📬", color: 2, at: dayBefore(5), board: null },
    { ...note, name: "Free shipping begins", color: 3, at: dayBefore(16), board },
  ];
}

/** Adds the shop's board, marks on its charts and a value that its application sets, unless the project has that board already. */
export async function addShopBoard(
  control: Kysely<ControlTables>,
  projectId: number,
  nowMs: number,
  days: number,
): Promise<void> {
  for (let day = days; day >= 0; day--) {
    // Grows a little each day, a little less at the week's end.
    const value = 1_180 + (days - day) * 4 - (day % 7 < 2 ? 6 : 0);
    const setting = { title: "Subscribers", icon: "☕", value };
    const insight = { projectId, key: "subscribers" };
    await setInsight(control, insight, setting, { nowMs: nowMs - day * dayMs, keyId: null });
  }
  const known = await control
    .selectFrom("boards")
    .select("id")
    .where("projectId", "=", projectId)
    .where("name", "=", name)
    .executeTakeFirst();
  if (known) return;
  await makeChange(control, { actor: commandActor, projectId }, async (change) => {
    const board = await createBoard(change, { name, tiles });
    for (const annotation of annotationsOf(board.id, nowMs)) await createAnnotation(change, annotation);
  });
}
