import { z } from "@hono/zod-openapi";
import { projectParameter, timestamp } from "../event/event-query.ts";
import { idCursor, nextCursor, optionalPageLimit } from "../validation/page-query.ts";

/** What the audit log records. */
export const auditActions = [
  "account.created",
  "account.changed",
  "account.deleted",
  "session.created",
  "session.failed",
  "session.ended",
  "password.changed",
  "password.reset",
  "two-factor.enabled",
  "two-factor.disabled",
  "recovery-codes.replaced",
  "passkey.added",
  "passkey.removed",
  "project.created",
  "project.changed",
  "project.transferred",
  "project.deleted",
  "member.invited",
  "member.joined",
  "member.changed",
  "member.removed",
  "member.left",
  "invitation.revoked",
  "key.created",
  "key.changed",
  "key.rotated",
  "key.revoked",
  "key.identity-secret-replaced",
  "destination.created",
  "destination.changed",
  "destination.deleted",
  "deliveries.retried",
  "rule.created",
  "rule.changed",
  "rule.deleted",
  "rule.tested",
  "alert.acknowledged",
  "alert.resolved",
  "silence.created",
  "silence.changed",
  "silence.ended",
  "silence.deleted",
  "view.created",
  "view.changed",
  "view.deleted",
  "annotation.created",
  "annotation.changed",
  "annotation.deleted",
  "cohort.created",
  "cohort.changed",
  "cohort.deleted",
  "board.created",
  "board.changed",
  "board.deleted",
  "board.restored",
  "board.published",
  "board.unpublished",
  "insight.deleted",
  "webhook.created",
  "webhook.changed",
  "webhook.rotated",
  "webhook.deleted",
  "heartbeat.created",
  "heartbeat.changed",
  "heartbeat.rotated",
  "heartbeat.published",
  "heartbeat.unpublished",
  "heartbeat.deleted",
  "on-call.created",
  "on-call.changed",
  "on-call.deleted",
  "on-call.overridden",
  "on-call.override-deleted",
  "report.created",
  "report.changed",
  "report.sent",
  "report.deleted",
  "channel.created",
  "channel.changed",
  "channel.deleted",
  "rejected.discarded",
  "event.deleted",
  "events.exported",
  "user.erased",
  "user.merged",
  "user.split",
  "user-note.created",
  "user-note.changed",
  "user-note.deleted",
  "group.deleted",
] as const;
export type AuditAction = (typeof auditActions)[number];

export const actorKinds = ["account", "key", "command", "server", "nobody"] as const;

export const AuditQuery = z.strictObject({
  action: z
    .string()
    .refine(
      (value) => auditActions.some((action) => action === value || action.startsWith(`${value}.`)),
      "must be an action, such as key.revoked, or the first part of one, such as key",
    )
    .optional()
    .openapi({ description: "An action, such as `key.revoked`, or all of a kind, such as `key`." }),
  actor: z
    .string()
    .optional()
    .openapi({ description: "Part of an account's email address or of a key's name." }),
  from: timestamp.optional().openapi({ description: "Start of the range, inclusive." }),
  to: timestamp.optional().openapi({ description: "End of the range, exclusive." }),
  limit: optionalPageLimit("Entries"),
  cursor: idCursor,
  format: z
    .enum(["json", "ndjson", "csv"])
    .optional()
    .openapi({ description: "Overrides `Accept`. Browsers save NDJSON and CSV as a file." }),
  project: projectParameter,
});
export type AuditQuery = z.infer<typeof AuditQuery>;

export const AuditEntry = z
  .object({
    id: z.string(),
    createdAt: z.string().openapi({ format: "date-time" }),
    action: z.enum(auditActions),
    actor: z
      .object({
        kind: z.enum(actorKinds),
        id: z.string().nullable().openapi({ description: "Of the account or key." }),
        name: z
          .string()
          .nullable()
          .openapi({ description: "The account's email address or the key's name at that time." }),
      })
      .openapi({ description: "Who did it. `command` is the command line, `nobody` is not signed in." }),
    target: z.string().nullable().openapi({
      description: "What it was done to: an email address, the name of a key or channel, the ID of an event.",
    }),
    detail: z.record(z.string(), z.unknown()),
    address: z.string().nullable().openapi({ description: "The client's IP address." }),
    userAgent: z.string().nullable(),
  })
  .openapi("AuditEntry");
export type AuditEntry = z.infer<typeof AuditEntry>;

export const AuditList = z
  .object({ ok: z.literal(true), entries: z.array(AuditEntry), nextCursor })
  .openapi("AuditList");
export type AuditList = z.infer<typeof AuditList>;
