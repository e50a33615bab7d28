import { makeChange } from "../audit/changes.ts";
import { ProjectQuery } from "../event/event-query.ts";
import type { MemberAccess } from "../http/caller.ts";
import type { Routes } from "../http/routes.ts";
import { Done } from "../schemas/done.ts";
import { CohortsOfUser, NewUserNote, UserNoteList, UserNoteResponse } from "../schemas/user-note.ts";
import type { Store } from "../storage/store.ts";
import { cohortsOfUser } from "./cohorts-of-user.ts";
import { changeNote, createNote, deleteNote, listNotes } from "./notes.ts";
import { checkUserId } from "./users.ts";

const tag = "Users";

/** What is known of a user besides their events: notes, and the cohorts that they are in. */
export function addAboutUserRoutes(routes: Routes, { store }: { store: Store }): void {
  const { control } = store;
  const userIdIn = (parameter: (name: string) => string): string => {
    const userId = parameter("userId");
    checkUserId(userId);
    return userId;
  };
  const placeIn = (parameter: (name: string) => string) => ({
    userId: userIdIn(parameter),
    id: parameter("id"),
  });
  const memberOf = ({ account, role }: Pick<MemberAccess, "account" | "role">) => ({
    accountId: account.id,
    role,
  });

  routes.add(
    {
      method: "get",
      path: "/api/users/{userId}/cohorts",
      by: "events:read",
      tag,
      summary: "List the cohorts that a user is in",
      description: "By any ID of the person, as the cohorts were computed last.",
      query: ProjectQuery,
      response: CohortsOfUser,
    },
    async ({ projectId, parameter }) => ({
      cohorts: await cohortsOfUser(control, projectId, userIdIn(parameter)),
    }),
  );

  routes.add(
    {
      method: "get",
      path: "/api/users/{userId}/notes",
      by: "events:read",
      tag,
      summary: "List the notes about a user, newest first",
      description: "By any ID of the person.",
      query: ProjectQuery,
      response: UserNoteList,
    },
    async ({ projectId, parameter }) => ({
      notes: await listNotes(control, projectId, userIdIn(parameter)),
    }),
  );

  routes.add(
    {
      method: "post",
      path: "/api/users/{userId}/notes",
      by: "users:note",
      tag,
      summary: "Write a note about a user",
      description: "Members of the project read it. It is erased with the user.",
      query: ProjectQuery,
      body: NewUserNote,
      status: 201,
      response: UserNoteResponse,
      problems: [409],
    },
    async (call) => {
      const userId = userIdIn(call.parameter);
      const note = await makeChange(control, call, (change) =>
        createNote(change, userId, call.body.text, Date.now()),
      );
      return { note };
    },
  );

  routes.add(
    {
      method: "patch",
      path: "/api/users/{userId}/notes/{id}",
      by: "users:note",
      tag,
      summary: "Change a note",
      description: "Only its author can.",
      query: ProjectQuery,
      versioned: null,
      body: NewUserNote,
      response: UserNoteResponse,
      problems: [404],
    },
    async (call) => {
      const edit = { ifMatch: call.ifMatch, member: memberOf(call), nowMs: Date.now() };
      const note = await makeChange(control, call, (change) =>
        changeNote(change, placeIn(call.parameter), call.body.text, edit),
      );
      return { note };
    },
  );

  routes.add(
    {
      method: "delete",
      path: "/api/users/{userId}/notes/{id}",
      by: "users:note",
      tag,
      summary: "Delete a note",
      description: "Its author can, and owners and admins of the project.",
      query: ProjectQuery,
      response: Done,
      problems: [404],
    },
    async (call) => {
      await makeChange(control, call, (change) =>
        deleteNote(change, placeIn(call.parameter), memberOf(call)),
      );
    },
  );
}
