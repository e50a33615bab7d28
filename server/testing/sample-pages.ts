import type { SampleShop } from "./sample-shop.ts";

/** The paths of the pages for members: those of a project, and those of an account. */
export function memberPages({
  eventId,
  boardId,
  heartbeatId,
  monitorId,
  cohortId,
}: Pick<SampleShop, "eventId" | "boardId" | "heartbeatId" | "monitorId" | "cohortId">) {
  return {
    feed: "/p/default",
    event: `/p/default/events/${eventId}`,
    channel: "/p/default/channels/payments",
    search: "/p/default?q=card%20-refund&tag.currency=EUR",
    users: "/p/default/users",
    cohorts: "/p/default/cohorts",
    cohort: `/p/default/cohorts/${cohortId}`,
    groups: "/p/default/groups/company",
    group: "/p/default/groups/company/hooli",
    insights: "/p/default/insights",
    annotations: "/p/default/annotations",
    user: "/p/default/users/cus_1042",
    who: `/p/default/who?${dropOuts(Date.now())}`,
    "who-groups": `/p/default/who?${companiesThatOrdered(Date.now())}`,
    boards: "/p/default/boards",
    board: `/p/default/boards/${boardId}?range=30d`,
    connections: "/p/default/connections",
    keys: "/p/default/keys",
    members: "/p/default/members",
    rules: "/p/default/rules",
    rule: `/p/default/rules/${monitorId}`,
    alerts: "/p/default/alerts",
    silences: "/p/default/silences",
    destinations: "/p/default/destinations",
    deliveries: "/p/default/deliveries",
    heartbeats: "/p/default/heartbeats",
    heartbeat: `/p/default/heartbeats/${heartbeatId}`,
    "on-call": "/p/default/on-call",
    reports: "/p/default/reports",
    webhooks: "/p/default/webhooks",
    rejected: "/p/default/rejected",
    audit: "/p/default/audit",
    settings: "/p/default/settings",
    notifications: "/notifications",
    account: "/account",
    "notification-settings": "/account/notifications",
    status: "/status",
  };
}

/** Who created an account in the last 30 days, and placed no order. */
function dropOuts(nowMs: number): URLSearchParams {
  return new URLSearchParams({ ...ordering(nowMs), reached: "1", dropped: "true" });
}

/** The companies of which somebody placed an order. */
function companiesThatOrdered(nowMs: number): URLSearchParams {
  return new URLSearchParams({
    ...ordering(nowMs),
    step1: 'name:"Order placed"',
    reached: "1",
    per: "company",
  });
}

function ordering(nowMs: number) {
  const iso = (daysAgo: number) => new Date(nowMs - daysAgo * 86_400_000).toISOString();
  return {
    ...{ of: "funnel", step1: 'name:"Account created"', step2: 'name:"Order placed"', window: "86400" },
    ...{ from: iso(30), to: iso(0) },
  };
}

/** The paths of the pages that need no session. Tokens that don't exist show what a dead link shows. */
export const openPages = {
  "sign-in": "/sign-in",
  "sign-up": "/sign-up",
  "forgot-password": "/forgot-password",
  "reset-password": "/reset-password?token=none",
  "restore-email": "/restore-email?token=none",
  "confirm-email": "/confirm-email?token=none",
  setup: "/setup",
  invitation: "/invite/none",
  unsubscribe: "/unsubscribe/none",
  "alert-link": "/alert/none",
  "public-board-ended": "/b/none",
};
