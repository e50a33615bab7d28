import type { Kysely, Transaction } from "kysely";
import { type Change, makeChange } from "../audit/changes.ts";
import { checkVersion, type IfMatch, versionOf } from "../core/edit-version.ts";
import { isoOrNull } from "../core/iso.ts";
import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import type { Actor } from "../http/caller.ts";
import { changeRule, findRule, ruleOf } from "../rules/rules.ts";
import type {
  NewProjectDestination,
  ProjectDestination,
  ProjectDestinationChange,
} from "../schemas/destination.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { SecretBox } from "../storage/secret-box.ts";
import { withLock } from "../storage/settings.ts";
import { changeSettings, checkSettings, findKind, kindOf, showSettings } from "./destination-settings.ts";
import {
  cancelDeliveries,
  type DestinationRow,
  openSettings,
  type Sending,
  type Settings,
  sealSettings,
  sendTo,
} from "./destinations.ts";
import type { Context, Outcome } from "./kinds/kind.ts";
import { escapeMarkdown } from "./kinds/markup.ts";
import { rotateWebhookSecret, type WebhookSettings, webhook } from "./kinds/webhook.ts";
import type { Message } from "./message.ts";
import type { OutboundPolicy } from "./outbound.ts";

type Control = Kysely<ControlTables> | Transaction<ControlTables>;

/** What changes a project's destinations: who, where, and what it needs for settings. */
export type DestinationEditor = {
  control: Kysely<ControlTables>;
  secrets: SecretBox;
  policy: OutboundPolicy;
  projectId: number;
  actor: Actor;
  /** Whether it may read what members who manage rules may. */
  isManager: boolean;
};

/** Who reads a project's destinations. */
type DestinationReader = Pick<DestinationEditor, "control" | "secrets" | "projectId" | "isManager">;

export async function listProjectDestinations({
  control,
  secrets,
  projectId,
  isManager,
}: DestinationReader): Promise<ProjectDestination[]> {
  const rows = await control
    .selectFrom("destinations")
    .selectAll()
    .where("projectId", "=", projectId)
    .orderBy("createdAt")
    .orderBy("id")
    .execute();
  return rows.map((row) => destinationOf(row, openSettings(row, secrets), isManager));
}

/** Throws `destination-unknown`. */
export async function findProjectDestination(
  { control, secrets, projectId, isManager }: DestinationReader,
  id: string,
): Promise<ProjectDestination> {
  const row = await findRow(control, projectId, id);
  return destinationOf(row, openSettings(row, secrets), isManager);
}

async function findRow(control: Control, projectId: number, id: string): Promise<DestinationRow> {
  const row = await control
    .selectFrom("destinations")
    .selectAll()
    .where("projectId", "=", projectId)
    .where("id", "=", id)
    .executeTakeFirst();
  if (!row) throw problem("destination-unknown", { detail: "This project has no destination with this ID." });
  return row;
}

/** Adds a destination. Throws `body-invalid`, `destination-exists` and `limit-reached`. */
export async function addProjectDestination(
  { control, secrets, policy, projectId, actor, isManager }: DestinationEditor,
  { kind, name, settings: entered, enabled, hourlyLimit, rules }: NewProjectDestination,
): Promise<{ destination: ProjectDestination; signingSecret?: string }> {
  const settings = checkSettings(findKind(kind), entered, policy);
  const id = Bun.randomUUIDv7();
  const named = { id, address: null };
  const row: DestinationRow = {
    ...named,
    accountId: null,
    projectId,
    kind,
    name,
    settings: sealSettings(named, settings, secrets),
    enabled: enabled ? 1 : 0,
    deliveredAt: null,
    failingSince: null,
    failure: null,
    deadToldAt: null,
    createdAt: Date.now(),
    hourlyLimit,
  };
  await makeChange(control, { projectId, actor }, async (change) => {
    const { transaction } = change;
    await lockDestinations(transaction);
    const { count } = await transaction
      .selectFrom("destinations")
      .select((eb) => eb.fn.countAll<number>().as("count"))
      .where("projectId", "=", projectId)
      .executeTakeFirstOrThrow();
    if (Number(count) >= limits.projectDestinations) {
      throw problem("limit-reached", {
        detail: `A project can have at most ${limits.projectDestinations} destinations. Delete one that you no longer use.`,
      });
    }
    await checkName(transaction, projectId, row);
    await transaction.insertInto("destinations").values(row).execute();
    await change.record({
      action: "destination.created",
      target: name,
      detail: { id, kind },
    });
    for (const rule of rules) await addToRule(change, rule, id);
  });
  const destination = destinationOf(row, settings, isManager);
  return kind === webhook.kind
    ? { destination, signingSecret: (settings as WebhookSettings).secret }
    : { destination };
}

/** Makes a rule notify a destination too. Throws `rule-unknown`. */
async function addToRule(change: Change, ruleId: string, id: string): Promise<void> {
  const { to } = ruleOf(await findRule(change.transaction, change.projectId, ruleId));
  await changeRule(change, ruleId, { to: { ...to, destinations: [...to.destinations, id] } }, null);
}

/**
 * Changes a destination. Settings that are left out stay, and `null` removes one. Turning it off cancels its waiting
 * deliveries. Throws `destination-unknown`, `changed-meanwhile`, `body-invalid` and `destination-exists`.
 */
export async function changeProjectDestination(
  { control, secrets, policy, projectId, actor, isManager }: DestinationEditor,
  id: string,
  { name, settings: entered, enabled, hourlyLimit }: ProjectDestinationChange,
  ifMatch: IfMatch,
): Promise<ProjectDestination> {
  const changed = await makeChange(control, { projectId, actor }, async ({ transaction, record }) => {
    await lockDestinations(transaction);
    const row = await findRow(transaction, projectId, id);
    const before = openSettings(row, secrets);
    checkVersion(ifMatch, destinationOf(row, before, isManager));
    const settings = entered ? changeSettings(kindOf(row), before, entered, policy) : before;
    const isFresh = entered !== undefined || (enabled === true && row.enabled === 0);
    const set: Partial<DestinationRow> = {
      name: name ?? row.name,
      ...(entered && { settings: sealSettings(row, settings, secrets) }),
      ...(enabled !== undefined && { enabled: enabled ? 1 : 0 }),
      ...(hourlyLimit !== undefined && { hourlyLimit }),
      // What failed before says nothing about other settings.
      ...(isFresh && { failingSince: null, failure: null }),
    };
    await checkName(transaction, projectId, { ...row, ...set });
    await transaction.updateTable("destinations").set(set).where("id", "=", id).execute();
    // Nor does what the former receiver asked for hold the queue.
    if (isFresh) await transaction.deleteFrom("deliveryQueues").where("destinationId", "=", id).execute();
    await record({
      action: "destination.changed",
      target: set.name!,
      detail: {
        id,
        ...(name !== undefined && { name }),
        ...(enabled !== undefined && { enabled }),
        ...(hourlyLimit !== undefined && { hourlyLimit }),
        ...(entered && { settings: Object.keys(entered) }),
      },
    });
    return destinationOf({ ...row, ...set }, settings, isManager);
  });
  if (enabled === false)
    await cancelDeliveries(control, id, "The destination was turned off before this was sent.");
  return changed;
}

/** Deletes a destination and cancels its waiting deliveries. Throws `destination-unknown`. */
export async function deleteProjectDestination(
  { control, projectId, actor }: Pick<DestinationEditor, "control" | "projectId" | "actor">,
  id: string,
): Promise<void> {
  await makeChange(control, { projectId, actor }, async ({ transaction, record }) => {
    const { kind, name } = await findRow(transaction, projectId, id);
    await transaction.deleteFrom("destinations").where("id", "=", id).execute();
    await record({
      action: "destination.deleted",
      target: name,
      detail: { id, kind },
    });
  });
  await cancelDeliveries(control, id, "The destination was deleted before this was sent.");
}

/**
 * Replaces a webhook's signing secret. Throws `destination-unknown`, `changed-meanwhile` and `destination-not-webhook`.
 */
export async function rotateSigningSecret(
  { control, secrets, projectId, actor, isManager }: DestinationEditor,
  id: string,
  ifMatch: IfMatch,
  nowMs: number,
): Promise<{ destination: ProjectDestination; signingSecret: string; previousValidUntil: string }> {
  return makeChange(control, { projectId, actor }, async ({ transaction, record }) => {
    await lockDestinations(transaction);
    const row = await findRow(transaction, projectId, id);
    checkVersion(ifMatch, destinationOf(row, openSettings(row, secrets), isManager));
    if (row.kind !== webhook.kind) {
      throw problem("destination-not-webhook", {
        detail: "Only webhooks have a signing secret. Enter a new secret in the settings instead.",
      });
    }
    const settings = rotateWebhookSecret(openSettings(row, secrets) as WebhookSettings, nowMs);
    const sealed = sealSettings(row, settings, secrets);
    await transaction.updateTable("destinations").set({ settings: sealed }).where("id", "=", id).execute();
    await record({
      action: "destination.changed",
      target: row.name,
      detail: { id, settings: ["secret"], previousValidUntil: settings.previousSecretUntil },
    });
    return {
      destination: destinationOf({ ...row, settings: sealed }, settings, isManager),
      signingSecret: settings.secret,
      previousValidUntil: settings.previousSecretUntil!,
    };
  });
}

/** Sends a test message at once, which changes nothing else. Throws `destination-unknown`. */
export async function sendTest(
  { control, baseUrl, ...sending }: Sending & { control: Control; baseUrl: string },
  projectId: number,
  id: string,
  context: Context,
): Promise<Outcome> {
  const row = await findRow(control, projectId, id);
  const project = await control
    .selectFrom("projects")
    .select(["slug", "name"])
    .where("id", "=", projectId)
    .executeTakeFirstOrThrow();
  const message: Message = {
    id: Bun.randomUUIDv7(),
    type: "test",
    title: "It works",
    icon: "🔔",
    text: `A test of the destination ${escapeMarkdown(row.name)}.`,
    fields: [],
    url: `${baseUrl}/p/${project.slug}`,
    project,
    rule: null,
    matches: null,
    newest: [],
    thread: null,
    event: null,
    createdAt: new Date(context.nowMs).toISOString(),
    urgent: false,
  };
  return sendTo(sending, row, message, context);
}

/** Until the transaction ends, nobody else counts destinations or names them. */
async function lockDestinations(transaction: Transaction<ControlTables>): Promise<void> {
  await withLock(transaction, "project destinations");
}

async function checkName(
  transaction: Transaction<ControlTables>,
  projectId: number,
  { id, name }: Pick<DestinationRow, "id" | "name">,
): Promise<void> {
  const other = await transaction
    .selectFrom("destinations")
    .select("id")
    .where("projectId", "=", projectId)
    .where("name", "=", name)
    .where("id", "<>", id)
    .executeTakeFirst();
  if (!other) return;
  throw problem("destination-exists", { detail: `The project has a destination called "${name}" already.` });
}

function destinationOf(row: DestinationRow, settings: Settings, isManager: boolean): ProjectDestination {
  return {
    id: row.id,
    kind: row.kind,
    name: row.name,
    enabled: row.enabled === 1,
    hourlyLimit: row.hourlyLimit,
    ...showSettings(kindOf(row), settings, isManager),
    deliveredAt: isoOrNull(row.deliveredAt),
    failingSince: isoOrNull(row.failingSince),
    failure: row.failure,
    // Of the sealed settings, so that a version says nothing about a secret.
    version: versionOf(row.name, row.enabled, row.settings, row.hourlyLimit),
    createdAt: new Date(row.createdAt).toISOString(),
  };
}
