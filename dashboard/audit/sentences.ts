import type { AuditAction, AuditEntry } from "../../server/schemas/audit.ts";

/** Each action as words without its target: "created the channel". */
const actions: Record<AuditAction, string> = {
  "account.created": "created the account",
  "account.changed": "changed the account",
  "account.deleted": "deleted the account",
  "session.created": "signed in",
  "session.failed": "failed to sign in as",
  "session.ended": "signed out",
  "password.changed": "changed the password",
  "password.reset": "reset the password",
  "two-factor.enabled": "turned on two-factor authentication",
  "two-factor.disabled": "turned off two-factor authentication",
  "recovery-codes.replaced": "made new recovery codes",
  "passkey.added": "added a passkey",
  "passkey.removed": "removed a passkey",
  "project.created": "created the project",
  "project.changed": "changed the project's settings",
  "project.transferred": "handed the project over to",
  "project.deleted": "deleted the project",
  "member.invited": "invited",
  "member.joined": "joined the project",
  "member.changed": "changed the role of",
  "member.removed": "removed the member",
  "member.left": "left the project",
  "invitation.revoked": "revoked the invitation of",
  "destination.created": "added the destination",
  "destination.changed": "changed the destination",
  "destination.deleted": "deleted the destination",
  "deliveries.retried": "retried deliveries to",
  "rule.created": "created the rule",
  "rule.changed": "changed the rule",
  "rule.deleted": "deleted the rule",
  "rule.tested": "tested the rule",
  "alert.acknowledged": "acknowledged the alert of the rule",
  "alert.resolved": "resolved the alert of the rule",
  "silence.created": "planned the silence",
  "silence.changed": "changed the silence",
  "silence.ended": "ended the silence",
  "silence.deleted": "deleted the silence",
  "view.created": "created the view",
  "view.changed": "changed the view",
  "view.deleted": "deleted the view",
  "key.created": "created the API key",
  "key.changed": "changed the API key",
  "key.rotated": "rotated the API key",
  "key.identity-secret-replaced": "created a secret for signatures of the API key",
  "key.revoked": "revoked the API key",
  "annotation.created": "created the annotation",
  "annotation.changed": "changed the annotation",
  "annotation.deleted": "deleted the annotation",
  "cohort.created": "created the cohort",
  "cohort.changed": "changed the cohort",
  "cohort.deleted": "deleted the cohort",
  "board.created": "created the board",
  "board.changed": "changed the board",
  "board.deleted": "deleted the board",
  "board.restored": "restored the board",
  "board.published": "created a public link of the board",
  "board.unpublished": "ended the public link of the board",
  "insight.deleted": "deleted the insight",
  "webhook.created": "created the webhook",
  "webhook.changed": "changed the webhook",
  "webhook.rotated": "replaced the address of the webhook",
  "webhook.deleted": "deleted the webhook",
  "heartbeat.created": "created the heartbeat",
  "heartbeat.changed": "changed the heartbeat",
  "heartbeat.rotated": "replaced the address of the heartbeat",
  "heartbeat.published": "created a badge of the heartbeat",
  "heartbeat.unpublished": "removed the badge of the heartbeat",
  "heartbeat.deleted": "deleted the heartbeat",
  "on-call.created": "created the on-call schedule",
  "on-call.changed": "changed the on-call schedule",
  "on-call.deleted": "deleted the on-call schedule",
  "on-call.overridden": "gave away a shift of the on-call schedule",
  "on-call.override-deleted": "deleted an override of the on-call schedule",
  "report.created": "created a report of the board",
  "report.changed": "changed a report of the board",
  "report.sent": "sent a report of the board",
  "report.deleted": "deleted a report of the board",
  "channel.created": "created the channel",
  "channel.changed": "changed the channel",
  "channel.deleted": "deleted the channel",
  "rejected.discarded": "discarded rejected events",
  "event.deleted": "deleted the event",
  "events.exported": "exported events",
  "user.erased": "erased a user",
  "user.merged": "merged two users",
  "user.split": "split an ID off a user",
  "user-note.created": "wrote a note about a user",
  "user-note.changed": "changed a note about a user",
  "user-note.deleted": "deleted a note about a user",
  "group.deleted": "deleted the group",
};

export function actionText({ action, target }: AuditEntry): string {
  if (action === "member.invited" && target === null) return "made an invitation link";
  if (action === "invitation.revoked" && target === null) return "revoked an invitation link";
  if (action === "deliveries.retried" && target === null) return "retried all dead deliveries";
  return actions[action] ?? action;
}

export function actorText({ actor }: AuditEntry): string {
  if (actor.name !== null) return actor.name;
  return {
    account: "An account",
    key: "An API key",
    command: "A command",
    server: "Tidings",
    nobody: "Somebody",
  }[actor.kind];
}

/** The details as "name: value · …"; IDs are left to the export. */
export function detailText({ detail }: AuditEntry): string {
  return Object.entries(detail)
    .filter(([name, value]) => !/^(id|newId|job)$/.test(name) && value !== null && value !== "")
    .map(([name, value]) => `${labelOf(name)}: ${valueText(value)}`)
    .join(" · ");
}

/** A value in words: `{ type: "burst", minutes: 5 }` is "burst, minutes 5", and lists in it are counted. */
function valueText(value: unknown): string {
  if (Array.isArray(value)) return value.map(valueText).join(", ");
  if (value === null || typeof value !== "object") return String(value);
  const parts = Object.entries(value).flatMap(([name, part]) => {
    if (name === "type") return [String(part)];
    if (part === true) return [labelOf(name)];
    if (Array.isArray(part)) return part.length > 0 ? [`${labelOf(name)} ${part.length}`] : [];
    return part === false || part === null || part === "" ? [] : [`${labelOf(name)} ${valueText(part)}`];
  });
  return parts.join(", ") || "none";
}

/** "retentionDays" becomes "retention days". */
function labelOf(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

/** Kinds of actions to filter by: the first part of an action's name. */
export const actionKinds = {
  session: "Sign-ins",
  account: "Accounts",
  password: "Passwords",
  "two-factor": "Two-factor authentication",
  "recovery-codes": "Recovery codes",
  passkey: "Passkeys",
  member: "Members",
  invitation: "Invitations",
  key: "API keys",
  project: "Project settings",
  destination: "Destinations",
  deliveries: "Retried deliveries",
  rule: "Rules",
  alert: "Alerts",
  silence: "Silences",
  cohort: "Cohorts",
  board: "Boards",
  annotation: "Annotations",
  insight: "Deleted insights",
  webhook: "Webhooks",
  heartbeat: "Heartbeats",
  "on-call": "On-call schedules",
  report: "Reports",
  channel: "Channels",
  view: "Views",
  rejected: "Rejected events",
  event: "Deleted events",
  events: "Exports",
  user: "Users",
  "user-note": "Notes about users",
  group: "Groups of users",
};
