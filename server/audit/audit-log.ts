import { type Kysely, type Selectable, sql, type Transaction } from "kysely";
import type { LastChange } from "../core/problems.ts";
import { msOf } from "../event/event-query.ts";
import type { Actor } from "../http/caller.ts";
import type { VersionedThing } from "../http/routes.ts";
import { type AuditAction, type AuditEntry, type AuditQuery, auditActions } from "../schemas/audit.ts";
import type { ControlTables } from "../storage/control-tables.ts";

export type NewAuditEntry = {
  action: AuditAction;
  /** The project that it concerns, if any. */
  projectId?: number | null;
  /** The object of the action: a member's email address, a key's name, a channel. */
  target?: string | null;
  /** More about it. Never a secret. */
  detail?: object;
};

/** A command on the server's own machine. */
export const commandActor: Actor = {
  kind: "command",
  id: null,
  name: null,
  address: null,
  userAgent: null,
};

/**
 * Adds an entry to the audit log.
 *
 * Invariant: what members, keys and commands change in accounts, projects, members, keys, channels and rules, and what
 * they remove or export, is in the audit log. Events, user properties and an account's own destinations and views are
 * not audited. Checked by `server/e2e/contract.test.ts`.
 *
 * Invariant: an entry is committed with its change, and the id of an erased user is in no entry. Checked by
 * `server/audit/audit.test.ts`.
 */
export async function recordAudit(
  control: Kysely<ControlTables> | Transaction<ControlTables>,
  actor: Actor,
  { action, projectId = null, target = null, detail = {} }: NewAuditEntry,
): Promise<void> {
  await control
    .insertInto("auditLog")
    .values({
      projectId,
      createdAt: Date.now(),
      action,
      actorKind: actor.kind,
      actorId: actor.id,
      actor: actor.name,
      target,
      detail: JSON.stringify(detail),
      address: actor.address,
      userAgent: actor.userAgent?.slice(0, 400).toWellFormed() ?? null,
    })
    .execute();
}

type AuditFilter = Pick<AuditQuery, "action" | "actor" | "from" | "to">;

/**
 * A page of a project's audit log, newest first. It includes what its members did outside of any project, such as
 * signing in, and failed attempts to sign in as one of them.
 *
 * @param before - the ID of the last entry of the page before
 */
export async function listAudit(
  control: Kysely<ControlTables>,
  projectId: number,
  { action, actor, from, to }: AuditFilter,
  limit: number,
  before?: number,
): Promise<AuditEntry[]> {
  const rows = await control
    .selectFrom("auditLog")
    .selectAll()
    .where((eb) => {
      const ofMembers = (column: "accounts.id" | "accounts.email") =>
        eb
          .selectFrom("members")
          .innerJoin("accounts", "accounts.id", "members.accountId")
          .select(column)
          .where("members.projectId", "=", projectId);
      const byMember = eb("actorId", "in", ofMembers("accounts.id"));
      const asMember = eb.and([
        eb("actorKind", "=", "nobody"),
        eb("target", "in", ofMembers("accounts.email")),
      ]);
      return eb.or([
        eb("projectId", "=", projectId),
        eb.and([eb("projectId", "is", null), eb.or([byMember, asMember])]),
      ]);
    })
    .$if(action !== undefined, (query) =>
      query.where(
        "action",
        "in",
        auditActions.filter((each) => each === action || each.startsWith(`${action}.`)),
      ),
    )
    .$if(actor !== undefined, (query) =>
      query.where(sql<boolean>`lower(actor) LIKE ${patternOf(actor!)} ESCAPE '!'`),
    )
    .$if(from !== undefined, (query) => query.where("createdAt", ">=", msOf(from!)))
    .$if(to !== undefined, (query) => query.where("createdAt", "<", msOf(to!)))
    .$if(before !== undefined, (query) => query.where("id", "<", before!))
    .orderBy("id", "desc")
    .limit(limit)
    .execute();
  return rows.map(entryOf);
}

/**
 * The last change of something in a project, or its deletion. Null if the log has none.
 *
 * @param key - its ID, or the name of a channel
 */
export async function findLastChange(
  control: Kysely<ControlTables>,
  projectId: number,
  thing: VersionedThing,
  key: string,
): Promise<LastChange | null> {
  const row = await control
    .selectFrom("auditLog")
    .select(["action", "createdAt", "actorKind", "actorId", "actor"])
    .where("projectId", "=", projectId)
    .where(
      "action",
      "in",
      auditActions.filter((each) => each.startsWith(`${thing}.`)),
    )
    .$if(thing === "channel", (query) => query.where("target", "=", key))
    .$if(thing === "member", (query) =>
      query.where("target", "=", (eb) =>
        eb.selectFrom("accounts").select("accounts.email").where("accounts.id", "=", key),
      ),
    )
    .$if(thing !== "channel" && thing !== "member" && thing !== "project", (query) =>
      query.where(sql<boolean>`detail LIKE ${patternOf(`"id":"${key}"`)} ESCAPE '!'`),
    )
    .orderBy("id", "desc")
    .limit(1)
    .executeTakeFirst();
  if (!row) return null;
  const by = { kind: row.actorKind, id: row.actorId, name: row.actor };
  return { action: row.action, at: new Date(row.createdAt).toISOString(), by };
}

/** A pattern of LIKE for texts that contain this one. */
function patternOf(text: string): string {
  return `%${text.toLowerCase().replace(/[%_!]/g, "!$&")}%`;
}

function entryOf(row: Selectable<ControlTables["auditLog"]>): AuditEntry {
  return {
    id: String(row.id),
    createdAt: new Date(row.createdAt).toISOString(),
    action: row.action,
    actor: { kind: row.actorKind, id: row.actorId, name: row.actor },
    target: row.target,
    detail: JSON.parse(row.detail) as Record<string, unknown>,
    address: row.address,
    userAgent: row.userAgent,
  };
}
