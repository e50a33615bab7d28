import type { Generated } from "kysely";
import type { AlertChange } from "../schemas/alert.ts";
import type { DeliveryReason, deliveryStates } from "../schemas/delivery.ts";
import type { Level } from "../schemas/preferences.ts";

/** The tables of rules, destinations, deliveries and members' preferences. */
export type NotificationTables = {
  destinations: {
    id: string;
    /** The owner is an account or a project. */
    accountId: string | null;
    projectId: number | null;
    kind: string;
    /** Of email, the address. */
    name: string;
    /** Of an account's: an email address, a push endpoint, or the account itself. */
    address: string | null;
    /** JSON, sealed. */
    settings: string | null;
    enabled: number;
    /** Of a project's: the last success. */
    deliveredAt: number | null;
    /** The first failure after the last success. */
    failingSince: number | null;
    /** What the last failure said. */
    failure: string | null;
    /** Since when the owners know that an urgent message to it is dead; null after a success. */
    deadToldAt: number | null;
    createdAt: number;
    /** How many messages it gets in an hour, besides urgent ones; null is unlimited. */
    hourlyLimit: number | null;
  };
  rules: {
    id: string;
    projectId: number;
    name: string;
    q: string;
    /** The condition and the recipients, as JSON: `RuleWhen` and `RuleRecipients`. */
    condition: string;
    recipients: string;
    urgent: number;
    enabled: number;
    /** Its counts and collected events, as JSON: `RuleState`. */
    state: string;
    /** The time when the rule must be evaluated without an event. */
    dueAt: number | null;
    /** When its metric is read next. A node that reads it moves this on, so that no other one does. */
    readAt: number | null;
    /** The search whose events resolve its alert. */
    resolveQ: string | null;
    remindMinutes: number | null;
    /** Whom to notify if nobody acknowledges the alert, as JSON: `EscalationStep[]`. */
    escalation: Generated<string>;
    /** When it last notified. */
    firedAt: number | null;
    /** The field whose values it follows: `user`, `channel`, `name` or `tag.KEY`. */
    forEach: string | null;
    /** After how many days without an event it forgets a value. */
    forgetDays: number | null;
    /** By what its alerts are told together, as `forEach`. */
    groupBy: string | null;
    createdAt: number;
  };
  /** The values that rules follow. */
  ruleValues: {
    ruleId: string;
    value: string;
    /** Of its last event; empty for none. */
    groupValue: string;
    /** As JSON: `RuleState`. */
    state: string;
    /** The time when it must be evaluated without an event. */
    dueAt: number | null;
    seenAt: number;
  };
  /** What rules found that goes on until it is resolved. */
  alerts: {
    id: string;
    projectId: number;
    ruleId: string;
    /** The rule as it was. */
    ruleName: string;
    q: string;
    /** Of a rule that follows each value by itself; else empty. */
    value: Generated<string>;
    /** The group by which it is told with others; empty for none. */
    groupValue: Generated<string>;
    /** The first alert of the group. */
    groupId: string | null;
    /** When somebody was told of it; null if nobody was. Of one that is told with others: when that will be. */
    toldAt: number | null;
    tellAt: number | null;
    title: string;
    urgent: number;
    /** How often the rule matched while it was open, and the last event by which it did. */
    matches: number;
    eventId: string | null;
    openedAt: number;
    acknowledgedAt: number | null;
    acknowledgedBy: string | null;
    /** Until when nobody is reminded; null: until it is resolved. */
    acknowledgedUntil: number | null;
    resolvedAt: number | null;
    resolvedBy: string | null;
    /** When its recipients are reminded next. */
    remindAt: number | null;
    /** How many steps of the rule's escalation were notified. */
    steps: number;
    /** When the next step is notified. */
    escalateAt: number | null;
    /** The earliest of these times and `tellAt`, or the end of its silence. */
    dueAt: number | null;
    /** The silence that covers it, or was the last to do so. */
    silenceId: string | null;
    /** Since when, and until when it is covered. Null after the silence. */
    silencedAt: number | null;
    silencedUntil: number | null;
    /** For how long silences have delayed its escalation. */
    silencedMs: Generated<number>;
  };
  alertChanges: {
    id: Generated<number>;
    alertId: string;
    change: AlertChange["change"];
    /** Null if the rule did it. */
    changedBy: string | null;
    /** The recipient whose link was used. */
    link: string | null;
    until: number | null;
    changedAt: number;
  };
  /** Planned silences: nobody is notified from `startsAt` to `endsAt`. */
  silences: {
    id: string;
    projectId: number;
    reason: string;
    /** A search; empty covers all events. */
    q: string;
    /** Ids of rules, as JSON; an empty list covers all. */
    rules: string;
    startsAt: number;
    endsAt: number;
    createdBy: string | null;
    /** Who ended it before its time. */
    endedBy: string | null;
    /** When open alerts are compared with it next. */
    dueAt: number | null;
    createdAt: number;
  };
  /** Events that a rule may match and whose deliveries are still to be made. */
  outbox: {
    id: Generated<number>;
    projectId: number;
    eventId: string;
    createdAt: number;
  };
  deliveries: {
    id: Generated<number>;
    projectId: number;
    /** Null if the delivery is not about an event. */
    eventId: string | null;
    /** Null if it goes to a destination of the project. */
    accountId: string | null;
    destinationId: string | null;
    ruleId: string | null;
    alertId: string | null;
    /** Why the account gets it, as a sentence, if the rule names it by an on-call schedule. */
    via: string | null;
    /** The channel of its event. */
    channel: string | null;
    /** An account's notifications in a project with the same key are shown as one. */
    groupKey: string | null;
    /** The content besides the event, as JSON. */
    notification: string | null;
    kind: string;
    label: string;
    state: (typeof deliveryStates)[number];
    attempts: Generated<number>;
    detail: string | null;
    /** The last failed attempts, oldest first, as JSON: `FailedAttempt`. */
    failures: string | null;
    /** The receiver's id of the message, to update it. */
    reference: string | null;
    createdAt: number;
    nextAttemptAt: number | null;
    deliveredAt: number | null;
    readAt: number | null;
    /** The reason why it was skipped or collected, and the time until which it applies. */
    reason: DeliveryReason | null;
    until: number | null;
    /** The delivery of the digest that a collected one is part of. */
    digestId: number | null;
  };
  /** Queues of deliveries that wait as a whole (notifications/delivery-holds.ts). Times are milliseconds since 1970. */
  deliveryQueues: {
    destinationId: string;
    heldUntil: number;
    /** The pause between two messages, because the receiver takes no more. */
    paceMs: number | null;
    /** The last message at this pace. */
    pacedAt: number | null;
  };
  notificationSettings: {
    accountId: string;
    timeZone: string;
    /** JSON: `QuietHours` and `EmailDigest`. */
    quietHours: string | null;
    emailDigest: string | null;
  };
  notificationLevels: {
    projectId: number;
    accountId: string;
    /** Empty for the whole project. */
    channel: string;
    destinationId: string;
    level: Level;
  };
  mutes: {
    id: string;
    projectId: number;
    accountId: string;
    channel: string;
    /** Empty for the whole channel. */
    name: string;
    /** Null: forever. */
    until: number | null;
    createdAt: number;
  };
  /** Members who want no email about a project. */
  emailUnsubscriptions: { projectId: number; accountId: string; createdAt: number };
  /** Notifications sent by email one by one in an hour since 1970. */
  mailCounts: {
    /** `account ID` or `project ID`. */
    subject: string;
    hour: number;
    mails: number;
  };
  /** The current hour of each destination with a limit. It begins with a message. */
  messageHours: {
    destinationId: string;
    startedAt: number;
    messages: number;
    /** How many messages of which rules were held back, as JSON: `HeldMessages[]`. */
    held: string;
    heldSince: number | null;
    /** When to tell of them; null if there are none. */
    dueAt: number | null;
  };
};
