import type { Kysely, Selectable, Transaction } from "kysely";
import type { Change } from "../audit/changes.ts";
import { checkVersion, type IfMatch, versionOf } from "../core/edit-version.ts";
import { limits } from "../core/limits.ts";
import { roleMay } from "../core/permissions.ts";
import { problem } from "../core/problems.ts";
import { withChange } from "../core/with-change.ts";
import type { MemberAccess } from "../http/caller.ts";
import type { AuditAction } from "../schemas/audit.ts";
import type { NewView, View, ViewChange } from "../schemas/view.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { checkNamedCohorts } from "../storage/named-cohorts.ts";
import { withLock } from "../storage/settings.ts";

type Control = Kysely<ControlTables> | Transaction<ControlTables>;
type ViewRow = Selectable<ControlTables["views"]>;

/** A member in a project. */
export type Viewer = Pick<MemberAccess, "projectId" | "account" | "role">;

/** The project's views in their order, then the member's own. */
export async function listViews(control: Control, { projectId, account }: Viewer): Promise<View[]> {
  const rows = await selectViews(control, projectId, account.id).execute();
  return [
    ...rows.filter(({ accountId }) => accountId === null),
    ...rows.filter(({ accountId }) => accountId !== null),
  ].map(viewOf);
}

function selectViews(control: Control, projectId: number, accountId: string) {
  return control
    .selectFrom("views")
    .selectAll()
    .where("projectId", "=", projectId)
    .where((eb) => eb.or([eb("accountId", "is", null), eb("accountId", "=", accountId)]))
    .orderBy("position")
    .orderBy("id");
}

/** Creates a view, after the others. Throws `limit-reached` and `role-insufficient`. */
export async function createView(
  change: Change,
  viewer: Viewer,
  { shared, ...view }: NewView,
): Promise<View> {
  const { transaction } = change;
  await withLock(transaction, "views");
  if (shared) checkMayShare(viewer);
  await checkNamedCohorts(transaction, viewer.projectId, view);
  const accountId = shared ? null : viewer.account.id;
  const siblings = await groupOf(transaction, viewer.projectId, accountId);
  if (siblings.length >= limits.views) {
    throw problem("limit-reached", {
      detail: `${shared ? "A project" : "A member"} can have at most ${limits.views} views. Delete one that is no longer needed.`,
    });
  }
  const row = await transaction
    .insertInto("views")
    .values({
      id: Bun.randomUUIDv7(),
      projectId: viewer.projectId,
      accountId,
      ...view,
      position: (siblings.at(-1)?.position ?? -1) + 1,
      createdAt: Date.now(),
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  await recordView(change, "view.created", row, { q: row.q });
  return viewOf(row);
}

/** Throws `view-unknown`, `role-insufficient` and `changed-meanwhile`. */
export async function changeView(
  change: Change,
  viewer: Viewer,
  id: string,
  body: ViewChange,
  ifMatch: IfMatch,
): Promise<View> {
  const { transaction } = change;
  await withLock(transaction, "views");
  const before = await findView(transaction, viewer, id);
  checkVersion(ifMatch, viewOf(before));
  await checkNamedCohorts(transaction, viewer.projectId, body);
  const { position, ...set } = body;
  if (position !== undefined) await moveView(transaction, before, position);
  if (Object.keys(set).length > 0)
    await transaction.updateTable("views").set(set).where("id", "=", id).execute();
  const after = withChange(before, set);
  await recordView(change, "view.changed", after, body);
  return viewOf(after);
}

/** Throws `view-unknown` and `role-insufficient`. */
export async function deleteView(change: Change, viewer: Viewer, id: string): Promise<void> {
  const { transaction } = change;
  await withLock(transaction, "views");
  const row = await findView(transaction, viewer, id);
  await transaction.deleteFrom("views").where("id", "=", id).execute();
  await recordView(change, "view.deleted", row, { q: row.q });
}

/** Records what was done to a view of the project. Members' own views are not in the audit log. */
async function recordView(
  { record }: Change,
  action: Extract<AuditAction, `view.${string}`>,
  { id, name, accountId }: ViewRow,
  detail: object,
): Promise<void> {
  if (accountId === null) await record({ action, target: name, detail: { id, ...detail } });
}

/** A view that the member may change. Another member's own view is unknown. */
async function findView(
  transaction: Transaction<ControlTables>,
  viewer: Viewer,
  id: string,
): Promise<ViewRow> {
  const row = await selectViews(transaction, viewer.projectId, viewer.account.id)
    .where("id", "=", id)
    .executeTakeFirst();
  if (!row) throw problem("view-unknown", { detail: "There is no view with this ID." });
  if (row.accountId === null) checkMayShare(viewer);
  return row;
}

function checkMayShare({ role }: Viewer): void {
  if (roleMay(role, "views:share")) return;
  throw problem("role-insufficient", {
    detail: "Views of the project need the role member. Save a view of your own instead.",
  });
}

/** The project's views, or those of one member, in their order. */
function groupOf(transaction: Transaction<ControlTables>, projectId: number, accountId: string | null) {
  return transaction
    .selectFrom("views")
    .select(["id", "position"])
    .where("projectId", "=", projectId)
    .where("accountId", accountId === null ? "is" : "=", accountId)
    .orderBy("position")
    .orderBy("id")
    .execute();
}

async function moveView(transaction: Transaction<ControlTables>, view: ViewRow, to: number): Promise<void> {
  const ids = (await groupOf(transaction, view.projectId, view.accountId)).map(({ id }) => id);
  const ordered = ids.filter((id) => id !== view.id);
  ordered.splice(to, 0, view.id);
  for (const [position, id] of ordered.entries()) {
    await transaction.updateTable("views").set({ position }).where("id", "=", id).execute();
  }
}

function viewOf({ id, name, q, range, split, accountId, createdAt }: ViewRow): View {
  return {
    id,
    name,
    q,
    range,
    split,
    shared: accountId === null,
    version: versionOf(name, q, range, split),
    createdAt: new Date(createdAt).toISOString(),
  };
}
