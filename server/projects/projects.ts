import type { Kysely, Selectable, Transaction } from "kysely";
import { type Change, changeIn } from "../audit/changes.ts";
import { addFirstBoard } from "../boards/boards.ts";
import { checkVersion, type IfMatch, versionOf } from "../core/edit-version.ts";
import { problem } from "../core/problems.ts";
import type { Actor } from "../http/caller.ts";
import { addFirstRule } from "../rules/rules.ts";
import type { Project, ProjectChange } from "../schemas/project.ts";
import type { ControlTables } from "../storage/control-tables.ts";

type Control = Kysely<ControlTables> | Transaction<ControlTables>;

const slugCharactersMax = 40;

/** Creates a project with a unique slug derived from its name, and its owner as the first member. */
export async function createProject(
  control: Control,
  name: string,
  ownerId: string | null,
): Promise<{ id: number; project: Project }> {
  const row = await insertProject(control, name);
  await addFirstRule(control, row.id);
  await addFirstBoard(control, row.id);
  if (ownerId !== null) await addMember(control, row.id, ownerId, "owner");
  return { id: row.id, project: projectOf({ ...row, role: "owner" }) };
}

/** Creates a project that somebody asked for, with an entry in its audit log. */
export async function addProject(
  transaction: Transaction<ControlTables>,
  actor: Actor,
  name: string,
  ownerId: string | null,
): Promise<Project> {
  const { id, project } = await createProject(transaction, name, ownerId);
  await changeIn(transaction, { actor, projectId: id }).record({
    action: "project.created",
    target: project.slug,
  });
  return project;
}

export async function addMember(
  control: Control,
  projectId: number,
  accountId: string,
  role: Project["role"],
): Promise<void> {
  await control
    .insertInto("members")
    .values({ projectId, accountId, role, createdAt: Date.now() })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** An account's projects, oldest first. */
export async function listProjects(control: Control, accountId: string): Promise<Project[]> {
  const rows = await selectOwnProjects(control, accountId).orderBy("projects.id").execute();
  return rows.map(projectOf);
}

/** A project as one of its members sees it. */
export async function findOwnProject(control: Control, accountId: string, id: number): Promise<Project> {
  const row = await selectOwnProjects(control, accountId)
    .where("projects.id", "=", id)
    .executeTakeFirstOrThrow();
  return projectOf(row);
}

function selectOwnProjects(control: Control, accountId: string) {
  return control
    .selectFrom("members")
    .innerJoin("projects", "projects.id", "members.projectId")
    .selectAll("projects")
    .select("members.role")
    .where("members.accountId", "=", accountId);
}

/** Changes a project's settings. The slug never changes. Throws `changed-meanwhile`. */
export async function changeProject(
  { transaction, projectId: id, record }: Change,
  role: Project["role"],
  body: ProjectChange,
  ifMatch: IfMatch,
): Promise<Project> {
  const { name, knownChannelsOnly, retentionDays, eventsPerDay, timeZone } = body;
  // Locks the row until the transaction ends.
  const before = await transaction
    .updateTable("projects")
    .set((eb) => ({ slug: eb.ref("slug") }))
    .where("id", "=", id)
    .returningAll()
    .executeTakeFirstOrThrow();
  checkVersion(ifMatch, projectOf({ ...before, role }));
  const row = await transaction
    .updateTable("projects")
    .set({
      ...(name !== undefined && { name }),
      ...(knownChannelsOnly !== undefined && { knownChannelsOnly: knownChannelsOnly ? 1 : 0 }),
      ...(retentionDays !== undefined && { retentionDays }),
      ...(eventsPerDay !== undefined && { eventsPerDay }),
      ...(timeZone !== undefined && { timeZone }),
    })
    .where("id", "=", id)
    .returningAll()
    .executeTakeFirstOrThrow();
  await record({ action: "project.changed", detail: body });
  return projectOf({ ...row, role });
}

/** Makes a project inaccessible at once: removes its members and keys, and frees its slug. A job deletes its data. */
export async function closeProject(
  { transaction: control, projectId: id, record }: Change,
  slug: string,
): Promise<void> {
  await record({ action: "project.deleted", target: slug });
  await control.deleteFrom("members").where("projectId", "=", id).execute();
  await control.deleteFrom("keys").where("projectId", "=", id).execute();
  // A public link ends with its board.
  await control.deleteFrom("boards").where("projectId", "=", id).execute();
  await control.deleteFrom("annotations").where("projectId", "=", id).execute();
  await control.deleteFrom("insights").where("projectId", "=", id).execute();
  await control.deleteFrom("alerts").where("projectId", "=", id).execute();
  await control.deleteFrom("rules").where("projectId", "=", id).execute();
  await control.deleteFrom("destinations").where("projectId", "=", id).execute();
  await control.deleteFrom("webhooks").where("projectId", "=", id).execute();
  await control.deleteFrom("onCallSchedules").where("projectId", "=", id).execute();
  await control.deleteFrom("reports").where("projectId", "=", id).execute();
  await control.deleteFrom("heartbeats").where("projectId", "=", id).execute();
  await control.deleteFrom("heartbeatEvents").where("projectId", "=", id).execute();
  await control
    .updateTable("projects")
    // No name produces this slug.
    .set({ slug: `~${id}`, name: "", retentionDays: null, deletedAt: Date.now() })
    .where("id", "=", id)
    .execute();
}

/** Finds a project by its slug, or by its name if only one has it. Throws `project-unknown`. */
export async function findProject(
  control: Control,
  nameOrSlug: string,
): Promise<{ id: number; slug: string }> {
  const bySlug = await control
    .selectFrom("projects")
    .select(["id", "slug"])
    .where("slug", "=", nameOrSlug)
    .where("deletedAt", "is", null)
    .executeTakeFirst();
  if (bySlug) return bySlug;
  const byName = await control
    .selectFrom("projects")
    .select(["id", "slug"])
    .where("name", "=", nameOrSlug)
    .where("deletedAt", "is", null)
    .execute();
  if (byName.length === 1) return byName[0]!;
  const all = await control
    .selectFrom("projects")
    .select("slug")
    .where("deletedAt", "is", null)
    .orderBy("id")
    .limit(20)
    .execute();
  const known = all.map(({ slug }) => slug).join(", ") || "none yet";
  throw problem("project-unknown", {
    detail:
      byName.length > 1
        ? `Several projects are named "${nameOrSlug}". Use the slug: ${known}.`
        : `There is no project "${nameOrSlug}". Projects: ${known}.`,
  });
}

function projectOf(row: Selectable<ControlTables["projects"]> & { role: Project["role"] }): Project {
  return {
    slug: row.slug,
    name: row.name,
    role: row.role,
    knownChannelsOnly: row.knownChannelsOnly === 1,
    retentionDays: row.retentionDays,
    eventsPerDay: row.eventsPerDay,
    timeZone: row.timeZone,
    version: versionOf(row.name, row.knownChannelsOnly, row.retentionDays, row.eventsPerDay, row.timeZone),
    createdAt: new Date(row.createdAt).toISOString(),
  };
}

async function insertProject(control: Control, name: string): Promise<Selectable<ControlTables["projects"]>> {
  const base =
    name
      .normalize("NFKD")
      .replace(/\p{M}/gu, "")
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, "-")
      .slice(0, slugCharactersMax)
      .replace(/^-+|-+$/g, "") || "project";
  for (let number = 1; ; number++) {
    // Only the insert tells whether the slug is free: another node may take it at the same time.
    const row = await control
      .insertInto("projects")
      .values({ slug: number === 1 ? base : `${base}-${number}`, name, createdAt: Date.now() })
      .onConflict((conflict) => conflict.column("slug").doNothing())
      .returningAll()
      .executeTakeFirst();
    if (row) return row;
  }
}
