import type { Kysely, Transaction } from "kysely";
import type { Change } from "../audit/changes.ts";
import { checkVersion, type IfMatch, versionOf } from "../core/edit-version.ts";
import { isoOf } from "../core/iso.ts";
import { limits } from "../core/limits.ts";
import { type Role, roleMay } from "../core/permissions.ts";
import { problem } from "../core/problems.ts";
import type { UserNote } from "../schemas/user-note.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { idsOf } from "../storage/people.ts";

type Control = Kysely<ControlTables> | Transaction<ControlTables>;
/** A note of a user. */
type NotePlace = { userId: string; id: string };
type Member = { accountId: string; role: Role };

/** The notes about a person, by any of their IDs, newest first. */
export async function listNotes(control: Control, projectId: number, userId: string): Promise<UserNote[]> {
  const rows = await control
    .selectFrom("userNotes")
    .leftJoin("accounts", "accounts.id", "userNotes.authorId")
    .select([
      "userNotes.id",
      "body",
      "authorId",
      "accounts.name",
      "userNotes.createdAt",
      "userNotes.updatedAt",
    ])
    .where("projectId", "=", projectId)
    .where("userId", "in", await idsOf(control, projectId, userId))
    .orderBy("userNotes.createdAt", "desc")
    .orderBy("userNotes.id", "desc")
    .limit(limits.pageItems)
    .execute();
  return rows.map(({ id, body, authorId, name, createdAt, updatedAt }) => ({
    id,
    text: body,
    author: authorId === null || name === null ? null : { id: authorId, name },
    createdAt: isoOf(createdAt),
    updatedAt: isoOf(updatedAt),
    version: versionOf(body),
  }));
}

/** Writes a note about a person. Throws `limit-reached`. */
export async function createNote(
  { transaction, projectId, actor, record }: Change,
  userId: string,
  text: string,
  nowMs: number,
): Promise<UserNote> {
  const ids = await idsOf(transaction, projectId, userId);
  const { notes } = await transaction
    .selectFrom("userNotes")
    .select((eb) => eb.fn.countAll<number>().as("notes"))
    .where("projectId", "=", projectId)
    .where("userId", "in", ids)
    .executeTakeFirstOrThrow();
  if (Number(notes) >= limits.userNotes)
    throw problem("limit-reached", {
      detail: `A user can have at most ${limits.userNotes} notes. Delete one that you no longer need.`,
    });
  const id = Bun.randomUUIDv7();
  await transaction
    .insertInto("userNotes")
    .values({
      id,
      projectId,
      userId: ids[0]!,
      body: text,
      authorId: actor.id,
      createdAt: nowMs,
      updatedAt: nowMs,
    })
    .execute();
  // Neither the user nor the text, which would outlive an erasure here.
  await record({ action: "user-note.created", target: id });
  return findNote(transaction, projectId, { userId, id });
}

/** Changes a note. Throws `note-unknown`, `changed-meanwhile`, and `role-insufficient` for a note of somebody else. */
export async function changeNote(
  { transaction, projectId, record }: Change,
  place: NotePlace,
  text: string,
  { ifMatch, member, nowMs }: { ifMatch: IfMatch; member: Member; nowMs: number },
): Promise<UserNote> {
  // Locks the note until the transaction ends.
  await transaction
    .updateTable("userNotes")
    .set((eb) => ({ updatedAt: eb.ref("updatedAt") }))
    .where("id", "=", place.id)
    .where("projectId", "=", projectId)
    .execute();
  const note = await findNote(transaction, projectId, place);
  if (note.author?.id !== member.accountId)
    throw problem("role-insufficient", { detail: "Only its author can change a note." });
  checkVersion(ifMatch, note);
  await transaction
    .updateTable("userNotes")
    .set({ body: text, updatedAt: nowMs })
    .where("id", "=", place.id)
    .execute();
  await record({ action: "user-note.changed", target: place.id });
  return findNote(transaction, projectId, place);
}

/** Deletes a note. Throws `note-unknown`, and `role-insufficient` for a note of somebody else. */
export async function deleteNote(
  { transaction, projectId, record }: Change,
  place: NotePlace,
  { accountId, role }: Member,
): Promise<void> {
  const { author } = await findNote(transaction, projectId, place);
  if (author?.id !== accountId && !roleMay(role, "users:erase"))
    throw problem("role-insufficient", { detail: "Only its author, owners and admins can delete a note." });
  await transaction.deleteFrom("userNotes").where("id", "=", place.id).execute();
  await record({ action: "user-note.deleted", target: place.id });
}

async function findNote(control: Control, projectId: number, { userId, id }: NotePlace): Promise<UserNote> {
  const note = (await listNotes(control, projectId, userId)).find((each) => each.id === id);
  if (!note) throw problem("note-unknown", { detail: "This user has no note with this ID." });
  return note;
}
