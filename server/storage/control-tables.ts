import type { Generated } from "kysely";
import type { KeyKind, Role } from "../core/permissions.ts";
import type { AuditAction, AuditEntry } from "../schemas/audit.ts";
import type { Job } from "../schemas/job.ts";
import type { KeyIdentify } from "../schemas/key-identify.ts";
import type { JoinedBy } from "../schemas/user.ts";
import type { WebhookOutcome, WebhookSource } from "../schemas/webhook.ts";
import type { AuthTables } from "./auth-tables.ts";
import type { CohortTables } from "./cohort-tables.ts";
import type { GroupTables } from "./group-tables.ts";
import type { HeartbeatTables } from "./heartbeat-tables.ts";
import type { NotificationTables } from "./notification-tables.ts";
import type { OnCallTables } from "./on-call-tables.ts";
import type { ReportTables } from "./report-tables.ts";
import type { WebsiteTables } from "./website-tables.ts";

/** The control tables as Kysely sees them: columns in camel case, times in milliseconds since 1970. */
export type ControlTables = AuthTables &
  CohortTables &
  GroupTables &
  NotificationTables &
  HeartbeatTables &
  OnCallTables &
  ReportTables &
  WebsiteTables & {
    settings: { name: string; value: string };
    projects: {
      id: Generated<number>;
      slug: string;
      name: string;
      knownChannelsOnly: Generated<number>;
      /** Null keeps events forever. */
      retentionDays: number | null;
      /** Its events are being removed, and it is no longer visible. */
      deletedAt: number | null;
      /** Null is unlimited. */
      eventsPerDay: number | null;
      createdAt: number;
      /** The zone of its days and times on the dashboard. Null uses each person's browser. */
      timeZone: string | null;
    };
    members: { projectId: number; accountId: string; role: Role; createdAt: number };
    invitations: {
      id: string;
      projectId: number;
      /** The recipient; null for a link that anyone can use. */
      email: string | null;
      role: Role;
      tokenHash: string;
      createdBy: string | null;
      createdAt: number;
      expiresAt: number;
    };
    channels: {
      projectId: number;
      name: string;
      icon: string | null;
      description: string | null;
      /** Null uses the project's. */
      retentionDays: number | null;
      archivedAt: number | null;
      /** Keys of tags, as a JSON array. */
      firstTags: Generated<string>;
      events: Generated<number>;
      lastEventAt: number | null;
      createdAt: number;
    };
    /** Each member's read mark of a channel, and the pin. */
    channelMarks: {
      projectId: number;
      accountId: string;
      channel: string;
      /** Null: events from before the member joined are read. */
      seenAt: number | null;
      /** Its position among the pinned channels; null if it isn't pinned. */
      pin: number | null;
    };
    views: {
      id: string;
      projectId: number;
      /** Null for a view of the whole project. */
      accountId: string | null;
      name: string;
      q: string;
      range: string | null;
      split: string | null;
      position: number;
      createdAt: number;
    };
    viewMarks: { viewId: string; accountId: string; seenAt: number };
    keys: {
      id: string;
      projectId: number;
      name: string;
      kind: KeyKind;
      /** Separated by commas. */
      scopes: string;
      /** A JSON array; empty allows all. */
      origins: string;
      expiresAt: number | null;
      /** Null is unlimited. */
      eventsPerSecond: number | null;
      lastUsedAddress: string | null;
      createdBy: string | null;
      /** The key that it was rotated to. */
      replacedBy: string | null;
      /** SHA-256 of the key, in hexadecimal. */
      hash: string;
      ending: string;
      createdAt: number;
      lastUsedAt: number | null;
      revokedAt: number | null;
      /** Whether a publishable key may join IDs without a signature. */
      identify: Generated<KeyIdentify>;
      /** The secret for signatures of user IDs, sealed; null if there is none. */
      identitySecret: string | null;
    };
    rejectedEvents: {
      id: Generated<number>;
      projectId: number;
      keyId: string | null;
      body: string;
      /** 1 if the body was longer and was truncated. */
      cut: number;
      /** The problem in the sender's response, as JSON. */
      problem: string;
      /** A text that all events rejected for the same reason share. */
      reason: Generated<string>;
      rejectedAt: number;
    };
    idempotencyKeys: {
      projectId: number;
      key: string;
      bodyHash: string;
      /** The response before the events were stored, as JSON: an event, or the results of a batch. */
      responseTemplate: string;
      /** The `AppendResult` of each event, as JSON. */
      results: string;
      createdAt: number;
    };
    users: {
      projectId: number;
      userId: string;
      properties: string;
      updatedAt: number;
      /** When the ID was first named as a known user's; null if it is anonymous. */
      identifiedAt: number | null;
    };
    /** The IDs that were joined to another one (people.ts). */
    personIds: {
      projectId: number;
      userId: string;
      /** The main ID of its person, which has no row; the ID itself if it was split off. */
      personId: string;
      /** The ID that it was joined to; null if it was split off. */
      joinedTo: string | null;
      joinedAt: number;
      joinedBy: JoinedBy;
      /** Name of the account or key. */
      joinedName: string | null;
      /** What it had of its own before, as JSON. */
      properties: string;
      identifiedAt: number | null;
      /** The names of the properties that the person got from it, as JSON. */
      filled: string;
      version: number;
    };
    peopleVersions: {
      projectId: number;
      version: number;
      /** The version at which rows were last removed. */
      removedVersion: number;
      /** How many IDs are joined to another one. */
      joined: number;
    };
    /** Derived from events, for sorting: see users/user-activity.ts. */
    userActivity: {
      projectId: number;
      userId: string;
      events: number;
      firstAt: number;
      lastAt: number;
      /** Grows with each removal of the first or last event; above 0, `firstAt` and `lastAt` can be wrong. */
      stale: Generated<number>;
    };
    userActivityPositions: {
      projectId: number;
      ms: number;
      sequence: number;
      /** Grows when events are removed before they were counted. */
      removals: Generated<number>;
      /** The last user whose entry was compared with the events; null if no comparison is due. */
      checkedTo: string | null;
      /** Grows with each change of the project's people but of their properties (people-changes.ts). */
      changes: Generated<number>;
    };
    /** The same for properties, as a sum over slots. */
    propertyChanges: { projectId: number; slot: number; changes: number };
    jobs: {
      id: string;
      projectId: number;
      /** The account that started it; null for an API key. */
      accountId: string | null;
      kind: Job["kind"];
      state: Job["state"];
      detail: string;
      done: Generated<number>;
      total: number | null;
      createdAt: number;
      endedAt: number | null;
    };
    /** Events of projects with a quota, by days since 1970 (UTC). */
    dailyEvents: { projectId: number; day: number; events: number };
    auditLog: {
      id: Generated<number>;
      /** Null for actions outside any project, such as a sign-in. */
      projectId: number | null;
      createdAt: number;
      action: AuditAction;
      actorKind: AuditEntry["actor"]["kind"];
      actorId: string | null;
      actor: string | null;
      target: string | null;
      detail: string;
      address: string | null;
      userAgent: string | null;
    };
    /** Work that one process at a time does, and the time until which it holds it. */
    leases: { name: string; holder: string; until: number };
    boards: {
      id: string;
      projectId: number;
      name: string;
      /** A JSON array of `Tile`. */
      tiles: string;
      /** Its position among the project's boards, from 0. */
      position: number;
      /** SHA-256 of the public link's token, in hexadecimal; null if the board isn't public. */
      linkHash: string | null;
      linkCreatedAt: number | null;
      createdAt: number;
      updatedAt: number;
      /** A deleted board can be restored. */
      deletedAt: number | null;
    };
    /** Marks on charts over time. */
    annotations: {
      id: string;
      projectId: number;
      type: "events" | "note";
      name: string;
      icon: string | null;
      /** A place in the charts' palette, from 1 on. */
      color: number;
      /** Of events: their search, and whether they are drawn. Null for a note. */
      q: string | null;
      enabled: number | null;
      /** Of a note: its moment, or where its day begins in UTC. Null for events. */
      at: number | null;
      isDay: number | null;
      /** The board that shows the note; null: all charts of the project. */
      boardId: string | null;
      createdBy: string | null;
      createdAt: number;
    };
    /** Values that applications set, shown on boards. */
    insights: {
      projectId: number;
      key: string;
      title: string;
      icon: string | null;
      value: number;
      createdAt: number;
      updatedAt: number;
      /** The key that set the value last; null if a member did. */
      keyId: string | null;
    };
    /** Former values. Each is the last one of a span of time. */
    insightPoints: { projectId: number; key: string; at: number; value: number };
    webhooks: {
      id: string;
      projectId: number;
      name: string;
      source: WebhookSource;
      channel: string;
      /** JSON; null for the source's own mappings. */
      mapping: string | null;
      signatureHeader: string | null;
      /** Sealed; null if none is entered yet. */
      secret: string | null;
      /** SHA-256 of the address's token, in hexadecimal. */
      tokenHash: string;
      /** The token, sealed, to show the address again; null for addresses that were made before it was kept. */
      token: string | null;
      receivedAt: number | null;
      createdAt: number;
    };
    webhookRequests: {
      id: Generated<number>;
      webhookId: string;
      /** JSON; null if it was too long to keep. */
      body: string | null;
      headers: string;
      outcome: WebhookOutcome;
      /** The id of the event that it became, or would become. The same delivery always has the same id. */
      eventId: string;
      /** JSON; null unless it was rejected. */
      problem: string | null;
      receivedAt: number;
    };
  };
