import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { text } from "../validation/text.ts";
import { version } from "./version.ts";

const noteText = text({ max: limits.userNoteCharacters, lines: true, filled: true });

export const NewUserNote = z
  .strictObject({ text: noteText })
  .openapi("NewUserNote", { example: { text: "Asked for an invoice by post." } });

export const UserNote = z
  .object({
    id: z.string(),
    text: z.string(),
    author: z
      .object({ id: z.string(), name: z.string() })
      .nullable()
      .openapi({ description: "The account that wrote it. Null if the account was deleted." }),
    createdAt: z.string().openapi({ format: "date-time" }),
    updatedAt: z.string().openapi({ format: "date-time" }),
    version,
  })
  .openapi("UserNote");
export type UserNote = z.infer<typeof UserNote>;

export const UserNoteResponse = z.object({ ok: z.literal(true), note: UserNote }).openapi("UserNoteResponse");

export const UserNoteList = z
  .object({ ok: z.literal(true), notes: z.array(UserNote) })
  .openapi("UserNoteList");
export type UserNoteList = z.infer<typeof UserNoteList>;

export const CohortsOfUser = z
  .object({ ok: z.literal(true), cohorts: z.array(z.object({ id: z.string(), name: z.string() })) })
  .openapi("CohortsOfUser");
export type CohortsOfUser = z.infer<typeof CohortsOfUser>;
