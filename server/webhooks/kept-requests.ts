import type { Kysely, Selectable } from "kysely";
import { limits } from "../core/limits.ts";
import { type Problem, type ProblemError, problem } from "../core/problems.ts";
import type { WebhookOutcome, WebhookRequest } from "../schemas/webhook.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { Store } from "../storage/store.ts";
import type { MappingInput } from "./expression.ts";

type Control = Kysely<ControlTables>;
export type RequestRow = Selectable<ControlTables["webhookRequests"]>;

/** What came of a request. */
export type Outcome = {
  outcome: WebhookOutcome;
  eventId: string;
  /** The id of the rejection that it replaces, by default its event's. */
  settledId?: string;
  problem?: ProblemError;
};

const dayMs = 24 * 60 * 60 * 1_000;

/** Keeps a request, and drops those that are too many. One that was rejected before is replaced. */
export async function keepRequest(
  { together }: Pick<Store, "together">,
  webhookId: string,
  input: MappingInput | null,
  { outcome, eventId, settledId = eventId, problem: found }: Outcome,
  nowMs: number,
): Promise<void> {
  // Of a body that is known to be too long, there is none.
  const body = input?.body === undefined ? null : JSON.stringify(input.body);
  await together("control", async (transaction) => {
    await transaction
      .deleteFrom("webhookRequests")
      .where("webhookId", "=", webhookId)
      .where("eventId", "=", settledId)
      .where("outcome", "=", "rejected")
      .execute();
    await transaction
      .insertInto("webhookRequests")
      .values({
        webhookId,
        body: body !== null && body.length <= limits.webhookRequestCharacters ? body : null,
        headers: JSON.stringify(input?.headers ?? {}),
        outcome,
        eventId,
        problem: found ? JSON.stringify(found.toProblem()) : null,
        receivedAt: nowMs,
      })
      .execute();
    await transaction
      .deleteFrom("webhookRequests")
      .where("webhookId", "=", webhookId)
      .where("id", "<=", (eb) =>
        eb
          .selectFrom("webhookRequests")
          .select("id")
          .where("webhookId", "=", webhookId)
          .orderBy("id", "desc")
          .offset(limits.webhookRequests)
          .limit(1),
      )
      .execute();
    await transaction
      .updateTable("webhooks")
      .set({ receivedAt: nowMs })
      .where("id", "=", webhookId)
      .execute();
  });
}

/** Whether the delivery of this event was rejected before, and its sender tries again. */
export async function wasRejected(control: Control, webhookId: string, eventId: string): Promise<boolean> {
  const row = await control
    .selectFrom("webhookRequests")
    .select("id")
    .where("webhookId", "=", webhookId)
    .where("eventId", "=", eventId)
    .where("outcome", "=", "rejected")
    .executeTakeFirst();
  return row !== undefined;
}

export async function listRequests(
  control: Control,
  webhookId: string,
  nowMs: number,
): Promise<WebhookRequest[]> {
  const rows = await control
    .selectFrom("webhookRequests")
    .selectAll()
    .where("webhookId", "=", webhookId)
    .where("receivedAt", ">=", nowMs - limits.webhookRequestDays * dayMs)
    .orderBy("id", "desc")
    .execute();
  return rows.map(requestOf);
}

/** Throws `webhook-request-unknown`. */
export async function findRequest(
  control: Control,
  projectId: number,
  id: string,
  webhookId?: string,
): Promise<RequestRow> {
  const row = await control
    .selectFrom("webhookRequests")
    .innerJoin("webhooks", "webhooks.id", "webhookRequests.webhookId")
    .selectAll("webhookRequests")
    .where("webhooks.projectId", "=", projectId)
    .$if(webhookId !== undefined, (query) => query.where("webhooks.id", "=", webhookId!))
    .where("webhookRequests.id", "=", /^\d{1,15}$/.test(id) ? Number(id) : 0)
    .executeTakeFirst();
  if (row) return row;
  throw problem("webhook-request-unknown", {
    detail: "There is no such request. Each webhook keeps only its last ones.",
  });
}

/** What mappings read of a kept request. Throws `body-invalid` if its body was too long to keep. */
export function inputOf({ body, headers }: RequestRow): MappingInput {
  if (body === null) {
    const detail = "The body of this request was not kept.";
    throw problem("body-invalid", { detail, errors: [{ pointer: "", detail }] });
  }
  return { body: JSON.parse(body) as unknown, headers: JSON.parse(headers) as Record<string, string> };
}

/** Notes what came of a request that was sent again. */
export async function changeOutcome(
  control: Control,
  id: number,
  { outcome, eventId }: Outcome,
): Promise<void> {
  const change = { outcome, eventId, problem: null };
  await control.updateTable("webhookRequests").set(change).where("id", "=", id).execute();
}

function requestOf(row: RequestRow): WebhookRequest {
  const { id, body, headers, outcome, eventId, problem: found, receivedAt } = row;
  const isStored = outcome === "recorded" || outcome === "duplicate";
  return {
    id: String(id),
    body,
    headers: JSON.parse(headers) as Record<string, string>,
    outcome,
    eventId: isStored ? eventId : null,
    detail: found === null ? null : (JSON.parse(found) as Problem).detail,
    receivedAt: new Date(receivedAt).toISOString(),
  };
}
