import { randomBytes } from "node:crypto";
import type { Kysely, Selectable, Transaction } from "kysely";
import type { Change } from "../audit/changes.ts";
import { hashOf } from "../auth/key-secret.ts";
import { checkVersion, type IfMatch, versionOf } from "../core/edit-version.ts";
import { limits } from "../core/limits.ts";
import { type Fault, type ProblemError, problem } from "../core/problems.ts";
import type {
  NewWebhook,
  Webhook,
  WebhookChange,
  WebhookMapping,
  WebhookOutcome,
  WebhookSource,
} from "../schemas/webhook.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { SecretBox } from "../storage/secret-box.ts";
import { withLock } from "../storage/settings.ts";
import { compileMapping } from "./mapping.ts";
import { sourceOf } from "./sources.ts";

type Control = Kysely<ControlTables> | Transaction<ControlTables>;
export type WebhookRow = Selectable<ControlTables["webhooks"]>;
/** A webhook, and what became of its last request. */
type ListedRow = WebhookRow & { lastOutcome: WebhookOutcome | null };

const tokenBytes = 32;

export async function listWebhooks(control: Control, projectId: number): Promise<Webhook[]> {
  const rows = await selectWebhooks(control)
    .where("projectId", "=", projectId)
    .orderBy("createdAt")
    .orderBy("id")
    .execute();
  return rows.map(webhookOf);
}

function selectWebhooks(control: Control) {
  return control
    .selectFrom("webhooks")
    .selectAll()
    .select((eb) =>
      eb
        .selectFrom("webhookRequests")
        .select("webhookRequests.outcome")
        .whereRef("webhookRequests.webhookId", "=", "webhooks.id")
        .orderBy("webhookRequests.id", "desc")
        .limit(1)
        .as("lastOutcome"),
    );
}

/** Throws `webhook-unknown`. */
export async function findWebhook(control: Control, projectId: number, id: string): Promise<ListedRow> {
  const row = await selectWebhooks(control)
    .where("projectId", "=", projectId)
    .where("id", "=", id)
    .executeTakeFirst();
  if (!row) throw problem("webhook-unknown", { detail: "This project has no webhook with this ID." });
  return row;
}

/** Returns the webhook and its token. Throws `body-invalid`, `webhook-exists` and `limit-reached`. */
export async function createWebhook(
  { transaction, projectId, record }: Change,
  secrets: SecretBox,
  { name, source, channel, mapping, signatureHeader, secret }: NewWebhook,
): Promise<{ webhook: Webhook; token: string }> {
  checkMapping(source, mapping);
  const id = Bun.randomUUIDv7();
  const { token, stored } = newToken(id, secrets);
  const row: WebhookRow = {
    id,
    projectId,
    name,
    source,
    channel,
    mapping: mapping && JSON.stringify(mapping),
    signatureHeader: signatureHeader?.toLowerCase() ?? null,
    secret: secret === undefined ? null : secrets.seal(secret, purposeOf(id)),
    ...stored,
    receivedAt: null,
    createdAt: Date.now(),
  };
  await withLock(transaction, "webhooks");
  const { count } = await transaction
    .selectFrom("webhooks")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("projectId", "=", projectId)
    .executeTakeFirstOrThrow();
  if (Number(count) >= limits.webhooks) {
    throw problem("limit-reached", {
      detail: `A project can have at most ${limits.webhooks} webhooks. Delete one that you no longer use.`,
    });
  }
  await checkName(transaction, row);
  await transaction.insertInto("webhooks").values(row).execute();
  const detail = { id, source, channel };
  await record({ action: "webhook.created", target: name, detail });
  return { webhook: webhookOf({ ...row, lastOutcome: null }), token };
}

/** Throws `webhook-unknown`, `changed-meanwhile`, `body-invalid` and `webhook-exists`. */
export async function changeWebhook(
  { transaction, projectId, record }: Change,
  secrets: SecretBox,
  id: string,
  change: WebhookChange,
  ifMatch: IfMatch,
): Promise<Webhook> {
  const { name, channel, mapping, signatureHeader, secret } = change;
  await withLock(transaction, "webhooks");
  const { lastOutcome, ...row } = await findWebhook(transaction, projectId, id);
  checkVersion(ifMatch, webhookOf({ ...row, lastOutcome }));
  if (mapping !== undefined) checkMapping(row.source, mapping);
  const changed: WebhookRow = {
    ...row,
    ...(name !== undefined && { name }),
    ...(channel !== undefined && { channel }),
    ...(mapping !== undefined && { mapping: mapping && JSON.stringify(mapping) }),
    ...(signatureHeader !== undefined && { signatureHeader: signatureHeader.toLowerCase() }),
    ...(secret !== undefined && { secret: secrets.seal(secret, purposeOf(id)) }),
  };
  await checkName(transaction, changed);
  await transaction.updateTable("webhooks").set(changed).where("id", "=", id).execute();
  await record({
    action: "webhook.changed",
    target: changed.name,
    detail: {
      id,
      ...(name !== undefined && { name }),
      ...(channel !== undefined && { channel }),
      changed: Object.keys(change),
    },
  });
  return webhookOf({ ...changed, lastOutcome });
}

/** Replaces the address; the old one ends at once. Throws `webhook-unknown` and `changed-meanwhile`. */
export async function rotateWebhook(
  { transaction, projectId, record }: Change,
  secrets: SecretBox,
  id: string,
  ifMatch: IfMatch,
): Promise<{ webhook: Webhook; token: string }> {
  const { token, stored } = newToken(id, secrets);
  await withLock(transaction, "webhooks");
  const row = await findWebhook(transaction, projectId, id);
  checkVersion(ifMatch, webhookOf(row));
  await transaction.updateTable("webhooks").set(stored).where("id", "=", id).execute();
  await record({ action: "webhook.rotated", target: row.name, detail: { id } });
  const webhook = webhookOf({ ...row, ...stored });
  return { webhook, token };
}

/** Throws `webhook-unknown`. */
export async function deleteWebhook({ transaction, projectId, record }: Change, id: string): Promise<void> {
  const { name } = await findWebhook(transaction, projectId, id);
  await transaction.deleteFrom("webhooks").where("id", "=", id).execute();
  await record({ action: "webhook.deleted", target: name, detail: { id } });
}

/** The signing secret; null if none is entered. */
export function openSecret({ id, secret }: WebhookRow, secrets: SecretBox): string | null {
  return secret === null ? null : secrets.open(secret, purposeOf(id));
}

/** The token of a webhook's address. Throws `webhook-unknown` and `webhook-address-unknown`. */
export async function findToken(
  control: Control,
  secrets: SecretBox,
  projectId: number,
  id: string,
): Promise<string> {
  const { name, token } = await findWebhook(control, projectId, id);
  if (token !== null) return secrets.open(token, tokenPurposeOf(id));
  throw problem("webhook-address-unknown", {
    detail: `The address of "${name}" was made before Tidings kept addresses, so it can't be shown. Replace it to get a new one.`,
  });
}

export function webhookOf(row: ListedRow): Webhook {
  const { id, name, source, channel, mapping, signatureHeader, secret, token, receivedAt, createdAt } = row;
  return {
    id,
    name,
    source,
    channel,
    mapping: mapping === null ? null : (JSON.parse(mapping) as WebhookMapping),
    signatureHeader,
    hasSecret: secret !== null,
    hasUrl: token !== null,
    receivedAt: receivedAt === null ? null : new Date(receivedAt).toISOString(),
    lastOutcome: row.lastOutcome,
    version: versionOf(name, channel, row.mapping, signatureHeader, secret, row.tokenHash),
    createdAt: new Date(createdAt).toISOString(),
  };
}

/**
 * A new token, and what is stored of it: its hash, by which requests find the webhook, and itself, sealed. 32 random
 * bytes need neither salt nor a slow hash.
 */
function newToken(id: string, secrets: SecretBox) {
  const token = randomBytes(tokenBytes).toString("base64url");
  return { token, stored: { tokenHash: hashOf(token), token: secrets.seal(token, tokenPurposeOf(id)) } };
}

function tokenPurposeOf(id: string): string {
  return `webhook address ${id}`;
}

function purposeOf(id: string): string {
  return `webhook ${id}`;
}

function checkMapping(source: WebhookSource, mapping: WebhookMapping | null): void {
  const faults = mappingFaults(source, mapping);
  if (faults.length > 0) throw invalidMapping(faults);
}

/** The mistakes in a mapping, with pointers such as `/mapping/name`. */
export function mappingFaults(source: WebhookSource, mapping: WebhookMapping | null): Fault[] {
  if (mapping === null) {
    if (sourceOf(source).readyMappings) return [];
    const detail = `"mapping" is missing. The source ${source} has no events ready.`;
    return [{ pointer: "/mapping", detail }];
  }
  const compiled = compileMapping(mapping);
  if (!Array.isArray(compiled)) return [];
  return compiled.map(({ pointer, detail }) => ({ pointer: `/mapping${pointer}`, detail }));
}

function invalidMapping(errors: Fault[]): ProblemError {
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : "";
  return problem("body-invalid", { detail: `${errors[0]!.detail}${more}`, errors });
}

async function checkName(transaction: Transaction<ControlTables>, row: WebhookRow): Promise<void> {
  const other = await transaction
    .selectFrom("webhooks")
    .select("id")
    .where("projectId", "=", row.projectId)
    .where("name", "=", row.name)
    .where("id", "<>", row.id)
    .executeTakeFirst();
  if (!other) return;
  throw problem("webhook-exists", { detail: `The project already has a webhook called "${row.name}".` });
}
