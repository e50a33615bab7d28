// @engines sqlite, postgres, clickhouse
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Event } from "../event/event.ts";
import { effort } from "../testing/engine.ts";
import { openStream } from "../testing/event-stream.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";
import { until, untilFannedOut } from "../testing/until.ts";

/** The secret of the first project: everything in it contains this text. */
const secret = "confidential";
const subscription = (host: string) => ({
  endpoint: `https://${host}.example.com/push`,
  keys: {
    p256dh: "BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM",
    auth: "tBHItJI5svbpez7KI4CCXg",
  },
});

type Ids = {
  event: string;
  rejected: string;
  key: string;
  rule: string;
  alert: string;
  silence: string;
  annotation: string;
  cohort: string;
  note: string;
  view: string;
  destination: string;
  mute: string;
  projectDestination: string;
  webhook: string;
  webhookRequest: string;
  heartbeat: string;
  schedule: string;
  override: string;
  report: string;
  notification: string;
  board: string;
  job: string;
  member: string;
  invitation: string;
  session: string;
};

/** Each route, and its status for those outside the first project. */
type Row = {
  /** Another project's key. */
  key: number;
  /** The session of an account that is a member elsewhere. */
  session: number;
  nobody: number;
  /** IDs in the first project, which the others request. */
  path?: (ids: Ids) => string;
  body?: (ids: Ids) => unknown;
};

/** Endpoints for clients of other services, which take keys and never sessions. */
const dropIns: Record<string, Row> = {
  ...rowsOf(
    ["track", "identify", "page", "screen", "group", "alias", "t", "i", "p", "g", "a"].map(
      (type) => `/v1/${type}`,
    ),
    { event: "n", userId: "u", traits: { a: 1 } },
  ),
  ...rowsOf(["/v1/batch", "/v1/b", "/beacon/v1/batch"], {
    batch: [{ type: "track", event: "n", userId: "u" }],
  }),
  ...rowsOf(["/batch/", "/batch", "/e/", "/i/v0/e/", "/capture/"], {
    batch: [{ event: "n", distinct_id: "u" }],
  }),
  ...rowsOf(["/v1/logs"], { resourceLogs: [] }),
  ...rowsOf(["/v1/log"], { channel: "c", event: "n" }),
  ...rowsOf(["/v1/insight"], { title: "n", value: 1 }),
  ...rowsOf(["/v1/insight"], { title: "n", value: { $inc: 1 } }, "PATCH"),
  ...rowsOf(["/cloudevents"], { specversion: "1.0", type: "n", source: "s", id: "1" }, "POST", 201),
  // The key is in the path.
  "POST /slack/{key}": {
    key: 401,
    session: 401,
    nobody: 401,
    path: () => "/slack/x",
    body: () => ({ text: "n" }),
  },
};

/** Endpoints that are the same for everyone. */
const sameForAll: Record<string, Row> = {
  // A heartbeat's token, or a key, is in the path.
  ...Object.fromEntries(
    ["GET", "POST"].flatMap((method) => [
      [`${method} /ping/{token}`, { key: 404, session: 404, nobody: 404, path: () => "/ping/x" }],
      [`${method} /ping/{token}/{end}`, { key: 404, session: 404, nobody: 404, path: () => "/ping/x/start" }],
      [
        `${method} /ping/{key}/{slug}/{end}`,
        { key: 401, session: 401, nobody: 401, path: () => "/ping/x/y/start" },
      ],
    ]),
  ),
  "GET /reports/{picture}": { key: 404, session: 404, nobody: 404, path: () => "/reports/x.png" },
  // A click in a chat is signed, and names its alert in the body.
  "POST /interactions/slack": { key: 400, session: 400, nobody: 400, body: () => ({}) },
  "POST /interactions/telegram": { key: 200, session: 200, nobody: 200, body: () => ({ update_id: 1 }) },
  "POST /interactions/discord/{publicKey}": {
    ...{ key: 401, session: 401, nobody: 401, body: () => ({ type: 1 }) },
    path: () => `/interactions/discord/${"0".repeat(64)}`,
  },
  // The script is the same for all pages, and the key of what it sends is in the body.
  "GET /t.js": { key: 200, session: 200, nobody: 200 },
  "GET /t/{version}": { key: 404, session: 404, nobody: 404, path: () => "/t/x.js" },
  "GET /s/{name}": { key: 404, session: 404, nobody: 404, path: () => "/s/x" },
  "GET /s/{name}/{version}": { key: 404, session: 404, nobody: 404, path: () => "/s/x/x.js" },
  "POST /t": { key: 401, session: 401, nobody: 401, body: () => ({ events: [] }) },
  "POST /s/{name}": {
    ...{ key: 401, session: 401, nobody: 401 },
    body: () => ({ events: [] }),
    path: () => "/s/x",
  },
  "GET /badge/{badge}": { key: 404, session: 404, nobody: 404, path: () => "/badge/x.svg" },
  ...Object.fromEntries(
    ["/flags/", "/flags", "/decide/", "/decide"].map((path) => [
      `POST ${path}`,
      { key: 200, session: 200, nobody: 200 },
    ]),
  ),
  ...Object.fromEntries(
    ["config", "config.js"].map((file) => [
      `GET /array/{key}/${file}`,
      { key: 404, session: 404, nobody: 404, path: () => `/array/x/${file}` },
    ]),
  ),
};

function rowsOf(paths: string[], body: unknown, method = "POST", status = 200): Record<string, Row> {
  const row = { key: status, session: 401, nobody: 401, body: () => body };
  return Object.fromEntries(paths.map((path) => [`${method} ${path}`, row]));
}

const weekly = (member: string) => ({
  members: [member],
  every: 1,
  unit: "week",
  at: "09:00",
  startsOn: "2026-03-02",
});

const table: Record<string, Row> = {
  ...dropIns,
  ...sameForAll,
  "POST /api/events": { key: 201, session: 201, nobody: 401, body: () => ({ channel: "c", name: "n" }) },
  "GET /api/events": { key: 200, session: 200, nobody: 401 },
  "GET /api/events/count": { key: 200, session: 200, nobody: 401 },
  "GET /api/events/stream": {
    key: 200,
    session: 200,
    nobody: 401,
    path: () => "/api/events/stream?lastEventId=0-0",
  },
  "GET /api/events/rejected": { key: 200, session: 200, nobody: 401 },
  "GET /api/events/rejected/groups": { key: 200, session: 200, nobody: 401 },
  "POST /api/events/rejected/replay": { key: 200, session: 200, nobody: 401, body: () => ({}) },
  "POST /api/events/rejected/discard": { key: 200, session: 200, nobody: 401, body: () => ({}) },
  "POST /api/events/rejected/{id}/replay": {
    key: 404,
    session: 404,
    nobody: 401,
    path: ({ rejected }) => `/api/events/rejected/${rejected}/replay`,
    body: () => ({ channel: "c", name: "n" }),
  },
  "DELETE /api/events/rejected/{id}": {
    key: 404,
    session: 404,
    nobody: 401,
    path: ({ rejected }) => `/api/events/rejected/${rejected}`,
  },
  "GET /api/events/{id}": {
    key: 404,
    session: 404,
    nobody: 401,
    path: ({ event }) => `/api/events/${event}`,
  },
  "GET /api/events/{id}/deliveries": {
    key: 404,
    session: 404,
    nobody: 401,
    path: ({ event }) => `/api/events/${event}/deliveries`,
  },
  "POST /mcp": {
    key: 406,
    session: 401,
    nobody: 401,
    path: () => "/mcp",
    body: () => ({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
  },
  "GET /api/search/complete": { key: 200, session: 200, nobody: 401 },
  "GET /api/search/texts": { key: 200, session: 200, nobody: 401, path: () => "/api/search/texts?of=name" },
  "GET /api/search/alternatives": { key: 200, session: 200, nobody: 401 },
  "DELETE /api/events/{id}": {
    key: 404,
    session: 404,
    nobody: 401,
    path: ({ event }) => `/api/events/${event}`,
  },
  // In another project, the same id is another user.
  "DELETE /api/users/{userId}": {
    key: 202,
    session: 202,
    nobody: 401,
    path: () => "/api/users/confidentia%6c",
  },
  "DELETE /api/channels/{name}": {
    key: 404,
    session: 404,
    nobody: 401,
    path: () => `/api/channels/${secret}`,
  },
  "GET /api/jobs/{id}": { key: 404, session: 404, nobody: 401, path: ({ job }) => `/api/jobs/${job}` },
  "GET /api/channels": { key: 200, session: 200, nobody: 401 },
  "POST /api/channels": { key: 201, session: 201, nobody: 401, body: () => ({ name: `c ${Math.random()}` }) },
  "PATCH /api/channels/{name}": {
    key: 404,
    session: 404,
    nobody: 401,
    path: () => `/api/channels/${secret}`,
    body: () => ({ archived: true }),
  },
  "GET /api/users": { key: 200, session: 200, nobody: 401 },
  "GET /api/users/{userId}": { key: 404, session: 404, nobody: 401, path: () => `/api/users/${secret}` },
  "PUT /api/users/{userId}": {
    key: 200,
    session: 200,
    nobody: 401,
    path: () => "/api/users/u",
    body: () => ({ plan: "free" }),
  },
  "PATCH /api/users/{userId}": {
    key: 200,
    session: 200,
    nobody: 401,
    path: () => "/api/users/u",
    body: () => ({ plan: "pro" }),
  },
  "POST /api/identify": {
    key: 200,
    session: 200,
    nobody: 401,
    body: () => ({ userId: "u", anonymousId: "visitor 3" }),
  },
  "POST /api/alias": {
    key: 200,
    session: 200,
    nobody: 401,
    body: () => ({ userId: "u", previousId: "visitor" }),
  },
  "POST /api/users/{userId}/merge": {
    key: 200,
    session: 200,
    nobody: 401,
    path: () => "/api/users/u/merge",
    body: () => ({ userId: "visitor 2" }),
  },
  // In another project, the same id is not joined to any.
  "POST /api/users/{userId}/split": {
    key: 409,
    session: 409,
    nobody: 401,
    path: () => "/api/users/joined%20visitor/split",
  },
  "GET /api/stats": {
    key: 200,
    session: 200,
    nobody: 401,
    path: () => "/api/stats?split=channel&users=true",
  },
  "GET /api/funnel": {
    key: 200,
    session: 200,
    nobody: 401,
    path: () => "/api/funnel?step=-unknown&step=-unknown&split=name",
  },
  "GET /api/retention": { key: 200, session: 200, nobody: 401 },
  "GET /api/paths": { key: 200, session: 200, nobody: 401, path: () => "/api/paths?anchor=-unknown" },
  "GET /api/paths/users": { key: 200, session: 200, nobody: 401, path: () => "/api/paths/users?target=0" },
  "GET /api/stickiness": { key: 200, session: 200, nobody: 401 },
  "GET /api/stickiness/users": { key: 200, session: 200, nobody: 401 },
  "GET /api/lifecycle": { key: 200, session: 200, nobody: 401 },
  "GET /api/lifecycle/users": {
    key: 200,
    session: 200,
    nobody: 401,
    path: () => "/api/lifecycle/users?period=0",
  },
  "GET /api/stats/users": { key: 200, session: 200, nobody: 401 },
  "GET /api/funnel/users": {
    key: 200,
    session: 200,
    nobody: 401,
    path: () => "/api/funnel/users?step=-unknown&step=-unknown&reached=1",
  },
  "GET /api/retention/users": {
    key: 200,
    session: 200,
    nobody: 401,
    path: () => "/api/retention/users?cohort=0",
  },
  "GET /api/boards": { key: 200, session: 200, nobody: 401 },
  "POST /api/boards": { key: 201, session: 201, nobody: 401, body: () => ({ name: "b" }) },
  "POST /api/boards/preview": {
    key: 200,
    session: 200,
    nobody: 401,
    body: () => ({ tile: { id: "t", type: "table", x: 0, y: 0, w: 4, h: 4, split: "name" } }),
  },
  "GET /api/boards/{id}": {
    key: 404,
    session: 404,
    nobody: 401,
    path: ({ board }) => `/api/boards/${board}`,
  },
  "PATCH /api/boards/{id}": {
    key: 404,
    session: 404,
    nobody: 401,
    path: ({ board }) => `/api/boards/${board}`,
    body: () => ({ name: "stolen" }),
  },
  "DELETE /api/boards/{id}": {
    key: 404,
    session: 404,
    nobody: 401,
    path: ({ board }) => `/api/boards/${board}`,
  },
  "POST /api/boards/{id}/restore": {
    key: 404,
    session: 404,
    nobody: 401,
    path: ({ board }) => `/api/boards/${board}/restore`,
  },
  "POST /api/boards/{id}/link": {
    key: 403,
    session: 404,
    nobody: 401,
    path: ({ board }) => `/api/boards/${board}/link`,
  },
  "DELETE /api/boards/{id}/link": {
    key: 403,
    session: 404,
    nobody: 401,
    path: ({ board }) => `/api/boards/${board}/link`,
  },
  "GET /api/boards/{id}/tiles/{tileId}/data": {
    key: 404,
    session: 404,
    nobody: 401,
    path: ({ board }) => `/api/boards/${board}/tiles/${secret}/data`,
  },
  // Whoever has the link may look at the board; nobody here has it.
  "GET /api/public/boards/{token}": {
    key: 404,
    session: 404,
    nobody: 404,
    path: ({ board }) => `/api/public/boards/${board}`,
  },
  "GET /api/public/boards/{token}/tiles/{tileId}/data": {
    key: 404,
    session: 404,
    nobody: 404,
    path: ({ board }) => `/api/public/boards/${board}/tiles/${secret}/data`,
  },
  "GET /api/insights": { key: 200, session: 200, nobody: 401 },
  "GET /api/insights/{key}": {
    key: 404,
    session: 404,
    nobody: 401,
    path: () => "/api/insights/confidentia%6c",
  },
  "PUT /api/insights/{key}": {
    key: 200,
    session: 200,
    nobody: 401,
    path: () => "/api/insights/other",
    body: () => ({ value: 1 }),
  },
  "PATCH /api/insights/{key}": {
    key: 200,
    session: 200,
    nobody: 401,
    path: () => "/api/insights/other",
    body: () => ({ add: 1 }),
  },
  "DELETE /api/insights/{key}": {
    key: 404,
    session: 404,
    nobody: 401,
    path: () => "/api/insights/confidentia%6c",
  },
  "GET /api/audit": { key: 200, session: 200, nobody: 401 },
  "GET /api/rules": { key: 200, session: 200, nobody: 401 },
  "POST /api/rules": {
    key: 201,
    session: 201,
    nobody: 401,
    body: () => ({
      name: Bun.randomUUIDv7(),
      q: "name:nothing",
      when: { type: "each" },
      to: { everyone: true, members: [], destinations: [] },
    }),
  },
  "POST /api/rules/preview": {
    key: 200,
    session: 200,
    nobody: 401,
    body: () => ({ q: "", when: { type: "each" } }),
  },
  "GET /api/rules/{id}": { key: 404, session: 404, nobody: 401, path: ({ rule }) => `/api/rules/${rule}` },
  "GET /api/rules/{id}/preview": {
    key: 404,
    session: 404,
    nobody: 401,
    path: ({ rule }) => `/api/rules/${rule}/preview`,
  },
  "GET /api/rules/{id}/values": {
    key: 404,
    session: 404,
    nobody: 401,
    path: ({ rule }) => `/api/rules/${rule}/values`,
  },
  "POST /api/rules/{id}/forget": {
    key: 404,
    session: 404,
    nobody: 401,
    path: ({ rule }) => `/api/rules/${rule}/forget`,
    body: () => ({ value: "billing" }),
  },
  "PATCH /api/rules/{id}": {
    key: 404,
    session: 404,
    nobody: 401,
    path: ({ rule }) => `/api/rules/${rule}`,
    body: () => ({ name: "stolen" }),
  },
  "POST /api/rules/{id}/test": {
    key: 404,
    session: 404,
    nobody: 401,
    path: ({ rule }) => `/api/rules/${rule}/test`,
  },
  "DELETE /api/rules/{id}": { key: 404, session: 404, nobody: 401, path: ({ rule }) => `/api/rules/${rule}` },
  "GET /api/alerts": { key: 200, session: 200, nobody: 401 },
  "GET /api/alerts/{id}": {
    key: 404,
    session: 404,
    nobody: 401,
    path: ({ alert }) => `/api/alerts/${alert}`,
  },
  "POST /api/alerts/{id}/acknowledge": {
    key: 404,
    session: 404,
    nobody: 401,
    path: ({ alert }) => `/api/alerts/${alert}/acknowledge`,
    body: () => ({}),
  },
  "POST /api/alerts/{id}/resolve": {
    key: 404,
    session: 404,
    nobody: 401,
    path: ({ alert }) => `/api/alerts/${alert}/resolve`,
  },
  "GET /api/alert-links/{token}": { key: 404, session: 404, nobody: 404, path: () => "/api/alert-links/a.b" },
  "POST /alert/{token}": {
    key: 404,
    session: 404,
    nobody: 404,
    path: () => "/alert/a.b",
    body: () => ({ do: "resolve" }),
  },
  "GET /api/annotations": { key: 200, session: 200, nobody: 401 },
  "POST /api/annotations": {
    key: 422,
    session: 422,
    nobody: 401,
    body: ({ board }) => ({ type: "note", name: "Mine", at: "2026-11-27", board }),
  },
  "GET /api/annotations/marks": {
    key: 200,
    session: 200,
    nobody: 401,
    path: ({ board }) => `/api/annotations/marks?board=${board}`,
  },
  "GET /api/annotations/{id}": {
    key: 404,
    session: 404,
    nobody: 401,
    path: ({ annotation }) => `/api/annotations/${annotation}`,
  },
  "PATCH /api/annotations/{id}": {
    key: 404,
    session: 404,
    nobody: 401,
    path: ({ annotation }) => `/api/annotations/${annotation}`,
    body: () => ({ name: "Changed" }),
  },
  "DELETE /api/annotations/{id}": {
    key: 404,
    session: 404,
    nobody: 401,
    path: ({ annotation }) => `/api/annotations/${annotation}`,
  },
  "GET /api/events/{id}/before": {
    key: 404,
    session: 404,
    nobody: 401,
    path: ({ event }) => `/api/events/${event}/before`,
  },
  "GET /api/group-types": { key: 200, session: 200, nobody: 401 },
  "GET /api/groups": {
    key: 200,
    session: 200,
    nobody: 401,
    path: () => `/api/groups?type=company&q=${secret}`,
  },
  "POST /api/groups": {
    key: 200,
    session: 200,
    nobody: 401,
    body: () => ({ type: "company", id: "own", userId: "mine" }),
  },
  "GET /api/groups/{type}/{id}": {
    key: 404,
    session: 404,
    nobody: 401,
    path: () => `/api/groups/company/${secret}`,
  },
  "PATCH /api/groups/{type}/{id}": {
    key: 404,
    session: 404,
    nobody: 401,
    path: () => `/api/groups/company/${secret}`,
    body: () => ({ plan: "changed" }),
  },
  "DELETE /api/groups/{type}/{id}": {
    key: 404,
    session: 404,
    nobody: 401,
    path: () => `/api/groups/company/${secret}`,
  },
  "GET /api/groups/{type}/{id}/members": {
    key: 404,
    session: 404,
    nobody: 401,
    path: () => `/api/groups/company/${secret}/members`,
  },
  "POST /api/groups/{type}/{id}/members": {
    key: 404,
    session: 404,
    nobody: 401,
    path: () => `/api/groups/company/${secret}/members`,
    body: () => ({ userId: "mine" }),
  },
  "DELETE /api/groups/{type}/{id}/members/{userId}": {
    key: 404,
    session: 404,
    nobody: 401,
    path: () => `/api/groups/company/${secret}/members/${secret}`,
  },
  "GET /api/users/{userId}/groups": {
    key: 200,
    session: 200,
    nobody: 401,
    path: () => `/api/users/${secret}/groups`,
  },
  "GET /api/users/{userId}/cohorts": {
    key: 200,
    session: 200,
    nobody: 401,
    path: () => `/api/users/${secret}/cohorts`,
  },
  "GET /api/users/{userId}/notes": {
    key: 200,
    session: 200,
    nobody: 401,
    path: () => `/api/users/${secret}/notes`,
  },
  "POST /api/users/{userId}/notes": {
    key: 403,
    session: 201,
    nobody: 401,
    path: () => "/api/users/mine/notes",
    body: () => ({ text: "mine" }),
  },
  "PATCH /api/users/{userId}/notes/{id}": {
    key: 403,
    session: 404,
    nobody: 401,
    path: ({ note }) => `/api/users/${secret}/notes/${note}`,
    body: () => ({ text: "changed" }),
  },
  "DELETE /api/users/{userId}/notes/{id}": {
    key: 403,
    session: 404,
    nobody: 401,
    path: ({ note }) => `/api/users/${secret}/notes/${note}`,
  },
  "GET /api/cohorts": { key: 200, session: 200, nobody: 401 },
  "POST /api/cohorts": {
    key: 201,
    session: 201,
    nobody: 401,
    body: () => ({ name: crypto.randomUUID(), conditions: [{ type: "search", q: "mine" }] }),
  },
  "POST /api/cohorts/preview": {
    key: 200,
    session: 200,
    nobody: 401,
    body: () => ({ conditions: [{ type: "users", userIds: [secret] }] }),
  },
  "GET /api/cohorts/{id}": {
    key: 404,
    session: 404,
    nobody: 401,
    path: ({ cohort }) => `/api/cohorts/${cohort}`,
  },
  "PATCH /api/cohorts/{id}": {
    key: 404,
    session: 404,
    nobody: 401,
    path: ({ cohort }) => `/api/cohorts/${cohort}`,
    body: () => ({ name: "changed" }),
  },
  "DELETE /api/cohorts/{id}": {
    key: 404,
    session: 404,
    nobody: 401,
    path: ({ cohort }) => `/api/cohorts/${cohort}`,
  },
  "GET /api/cohorts/{id}/members": {
    key: 404,
    session: 404,
    nobody: 401,
    path: ({ cohort }) => `/api/cohorts/${cohort}/members`,
  },
  "GET /api/cohorts/{id}/export": {
    key: 404,
    session: 404,
    nobody: 401,
    path: ({ cohort }) => `/api/cohorts/${cohort}/export`,
  },
  "GET /api/silences": { key: 200, session: 200, nobody: 401 },
  "POST /api/silences": {
    key: 201,
    session: 201,
    nobody: 401,
    body: () => ({ reason: "Mine", to: new Date(Date.now() + 3_600_000).toISOString() }),
  },
  "POST /api/silences/preview": { key: 200, session: 200, nobody: 401, body: () => ({}) },
  "GET /api/silences/{id}": {
    key: 404,
    session: 404,
    nobody: 401,
    path: ({ silence }) => `/api/silences/${silence}`,
  },
  "PATCH /api/silences/{id}": {
    key: 404,
    session: 404,
    nobody: 401,
    path: ({ silence }) => `/api/silences/${silence}`,
    body: () => ({ reason: "Changed" }),
  },
  "POST /api/silences/{id}/end": {
    key: 404,
    session: 404,
    nobody: 401,
    path: ({ silence }) => `/api/silences/${silence}/end`,
  },
  "DELETE /api/silences/{id}": {
    key: 404,
    session: 404,
    nobody: 401,
    path: ({ silence }) => `/api/silences/${silence}`,
  },
  "GET /api/sidebar": { key: 403, session: 200, nobody: 401 },
  "POST /api/sidebar/seen": {
    key: 403,
    session: 200,
    nobody: 401,
    body: ({ view }) => ({ channels: [{ name: secret }], views: [{ id: view }] }),
  },
  "PUT /api/sidebar/pins": { key: 403, session: 404, nobody: 401, body: () => ({ channels: [secret] }) },
  "GET /api/views": { key: 403, session: 200, nobody: 401 },
  "POST /api/views": { key: 403, session: 201, nobody: 401, body: () => ({ name: "v" }) },
  "PATCH /api/views/{id}": {
    key: 403,
    session: 404,
    nobody: 401,
    path: ({ view }) => `/api/views/${view}`,
    body: () => ({ name: "stolen" }),
  },
  "DELETE /api/views/{id}": { key: 403, session: 404, nobody: 401, path: ({ view }) => `/api/views/${view}` },
  "GET /api/destination-kinds": { key: 200, session: 200, nobody: 401 },
  "GET /api/project-destinations": { key: 200, session: 200, nobody: 401 },
  "POST /api/project-destinations": {
    key: 201,
    session: 201,
    nobody: 401,
    body: () => ({ kind: "ntfy", name: `n ${Math.random()}`, settings: { topic: "t" } }),
  },
  "GET /api/project-destinations/{id}": {
    key: 404,
    session: 404,
    nobody: 401,
    path: ({ projectDestination }) => `/api/project-destinations/${projectDestination}`,
  },
  "PATCH /api/project-destinations/{id}": {
    key: 404,
    session: 404,
    nobody: 401,
    path: ({ projectDestination }) => `/api/project-destinations/${projectDestination}`,
    body: () => ({ enabled: false }),
  },
  "DELETE /api/project-destinations/{id}": {
    key: 404,
    session: 404,
    nobody: 401,
    path: ({ projectDestination }) => `/api/project-destinations/${projectDestination}`,
  },
  "POST /api/project-destinations/{id}/test": {
    key: 404,
    session: 404,
    nobody: 401,
    path: ({ projectDestination }) => `/api/project-destinations/${projectDestination}/test`,
  },
  "POST /api/project-destinations/{id}/rotate": {
    key: 404,
    session: 404,
    nobody: 401,
    path: ({ projectDestination }) => `/api/project-destinations/${projectDestination}/rotate`,
  },
  "POST /api/project-destinations/{id}/rotate-secret": {
    key: 404,
    session: 404,
    nobody: 401,
    path: ({ projectDestination }) => `/api/project-destinations/${projectDestination}/rotate-secret`,
  },
  "POST /hooks/{token}": { key: 404, session: 404, nobody: 404, path: () => "/hooks/x", body: () => ({}) },
  "GET /api/webhooks": { key: 200, session: 200, nobody: 401 },
  "POST /api/webhooks": {
    key: 403,
    session: 201,
    nobody: 401,
    body: () => ({ name: `w ${Math.random()}`, source: "github", channel: "c" }),
  },
  "POST /api/webhooks/preview": {
    key: 403,
    session: 404,
    nobody: 401,
    body: ({ webhookRequest }) => ({
      source: "github",
      channel: "c",
      mapping: null,
      request: webhookRequest,
    }),
  },
  "GET /api/webhooks/{id}": {
    key: 404,
    session: 404,
    nobody: 401,
    path: ({ webhook }) => `/api/webhooks/${webhook}`,
  },
  "PATCH /api/webhooks/{id}": {
    key: 403,
    session: 404,
    nobody: 401,
    path: ({ webhook }) => `/api/webhooks/${webhook}`,
    body: () => ({ channel: "stolen" }),
  },
  "DELETE /api/webhooks/{id}": {
    key: 403,
    session: 404,
    nobody: 401,
    path: ({ webhook }) => `/api/webhooks/${webhook}`,
  },
  "GET /api/heartbeats": { key: 200, session: 200, nobody: 401 },
  "POST /api/heartbeats": {
    key: 201,
    session: 201,
    nobody: 401,
    body: () => ({ name: `h ${Math.random()}`, schedule: { type: "period", minutes: 5 } }),
  },
  "POST /api/heartbeats/preview": {
    key: 200,
    session: 200,
    nobody: 401,
    body: () => ({ schedule: { type: "period", minutes: 5 } }),
  },
  ...Object.fromEntries(
    [
      ["GET", ""],
      ["PATCH", ""],
      ["DELETE", ""],
      ["GET", "/url"],
      ["GET", "/pings"],
      ["POST", "/rotate"],
      ["POST", "/badge"],
      ["DELETE", "/badge"],
    ].map(([method, end]): [string, Row] => [
      `${method} /api/heartbeats/{id}${end}`,
      {
        key: 404,
        session: 404,
        nobody: 401,
        path: ({ heartbeat }) => `/api/heartbeats/${heartbeat}${end}`,
        ...(method === "PATCH" && { body: () => ({ channel: "stolen" }) }),
      },
    ]),
  ),
  "GET /api/on-call": { key: 200, session: 200, nobody: 401 },
  "GET /api/on-call/now": { key: 200, session: 200, nobody: 401 },
  // With somebody who is no member there.
  "POST /api/on-call": {
    key: 422,
    session: 422,
    nobody: 401,
    body: ({ member }) => ({ name: "mine", timeZone: "UTC", rotations: [weekly(member)] }),
  },
  ...Object.fromEntries(
    [
      ["GET", ""],
      ["PATCH", ""],
      ["DELETE", ""],
      ["GET", "/shifts"],
      ["GET", "/overrides"],
      ["POST", "/overrides"],
      ["DELETE", "/overrides/{override}"],
    ].map(([method, end]): [string, Row] => [
      `${method} /api/on-call/{id}${end}`,
      {
        key: 404,
        session: 404,
        nobody: 401,
        path: ({ schedule, override }) => `/api/on-call/${schedule}${end!.replace("{override}", override)}`,
        ...(method === "PATCH" && { body: () => ({ name: "stolen" }) }),
        ...(method === "POST" && {
          body: () => ({ from: "2098-01-01T00:00:00Z", to: "2098-01-02T00:00:00Z" }),
        }),
      },
    ]),
  ),
  "GET /api/reports": { key: 200, session: 200, nobody: 401 },
  "POST /api/reports": {
    key: 404,
    session: 404,
    nobody: 401,
    body: ({ board, projectDestination }) => ({
      ...{ board, destination: projectDestination },
      schedule: { every: "day", at: "08:00", timeZone: "UTC" },
    }),
  },
  "GET /api/reports/preview": {
    key: 404,
    session: 404,
    nobody: 401,
    path: ({ board }) => `/api/reports/preview?board=${board}`,
  },
  ...Object.fromEntries(
    [
      ["GET", ""],
      ["PATCH", ""],
      ["DELETE", ""],
      ["POST", "/send"],
    ].map(([method, end]): [string, Row] => [
      `${method} /api/reports/{id}${end}`,
      {
        key: 404,
        session: 404,
        nobody: 401,
        path: ({ report }) => `/api/reports/${report}${end}`,
        ...(method === "PATCH" && { body: () => ({ enabled: false }) }),
      },
    ]),
  ),
  "GET /api/connections": { key: 200, session: 200, nobody: 401 },
  "GET /api/webhooks/{id}/url": {
    key: 403,
    session: 404,
    nobody: 401,
    path: ({ webhook }) => `/api/webhooks/${webhook}/url`,
  },
  "POST /api/webhooks/{id}/rotate": {
    key: 403,
    session: 404,
    nobody: 401,
    path: ({ webhook }) => `/api/webhooks/${webhook}/rotate`,
  },
  "GET /api/webhooks/{id}/requests": {
    key: 403,
    session: 404,
    nobody: 401,
    path: ({ webhook }) => `/api/webhooks/${webhook}/requests`,
  },
  "POST /api/webhooks/{id}/requests/{request}/resend": {
    key: 403,
    session: 404,
    nobody: 401,
    path: ({ webhook, webhookRequest }) => `/api/webhooks/${webhook}/requests/${webhookRequest}/resend`,
  },
  "GET /api/deliveries": { key: 200, session: 200, nobody: 401 },
  "POST /api/deliveries/{id}/retry": {
    key: 404,
    session: 404,
    nobody: 401,
    path: ({ notification }) => `/api/deliveries/${notification}/retry`,
  },
  "POST /api/deliveries/retry": { key: 200, session: 200, nobody: 401, body: () => ({}) },
  "GET /api/keys": { key: 403, session: 200, nobody: 401 },
  "POST /api/keys": { key: 403, session: 201, nobody: 401, body: () => ({ name: "k" }) },
  "PATCH /api/keys/{id}": {
    key: 403,
    session: 404,
    nobody: 401,
    path: ({ key }) => `/api/keys/${key}`,
    body: () => ({ name: "stolen" }),
  },
  "POST /api/keys/{id}/rotate": {
    key: 403,
    session: 404,
    nobody: 401,
    path: ({ key }) => `/api/keys/${key}/rotate`,
    body: () => ({}),
  },
  "POST /api/keys/{id}/identity-secret": {
    key: 403,
    session: 404,
    nobody: 401,
    path: ({ key }) => `/api/keys/${key}/identity-secret`,
  },
  "DELETE /api/keys/{id}": { key: 403, session: 404, nobody: 401, path: ({ key }) => `/api/keys/${key}` },
  "GET /api/members": { key: 403, session: 200, nobody: 401 },
  "PATCH /api/members/{id}": {
    key: 403,
    session: 404,
    nobody: 401,
    path: ({ member }) => `/api/members/${member}`,
    body: () => ({ role: "viewer" }),
  },
  "DELETE /api/members/{id}": {
    key: 403,
    session: 404,
    nobody: 401,
    path: ({ member }) => `/api/members/${member}`,
  },
  "GET /api/invitations": { key: 403, session: 200, nobody: 401 },
  "POST /api/invitations": { key: 403, session: 201, nobody: 401, body: () => ({ role: "viewer" }) },
  "DELETE /api/invitations/{id}": {
    key: 403,
    session: 404,
    nobody: 401,
    path: ({ invitation }) => `/api/invitations/${invitation}`,
  },
  "POST /api/invitations/{id}/renew": {
    key: 403,
    session: 404,
    nobody: 401,
    path: ({ invitation }) => `/api/invitations/${invitation}/renew`,
  },
  // Whoever has the link may look at the invitation; nobody here has it.
  "GET /api/invitations/token/{token}": {
    key: 404,
    session: 404,
    nobody: 404,
    path: ({ invitation }) => `/api/invitations/token/${invitation}`,
  },
  "POST /api/invitations/token/{token}/accept": {
    key: 403,
    session: 404,
    nobody: 401,
    path: ({ invitation }) => `/api/invitations/token/${invitation}/accept`,
  },
  // Only from the dashboard's own pages.
  "POST /api/invitations/token/{token}/sign-up": {
    key: 403,
    session: 404,
    nobody: 403,
    path: ({ invitation }) => `/api/invitations/token/${invitation}/sign-up`,
    body: () => ({ email: "x@example.com", password: "long enough password" }),
  },
  "GET /api/projects": { key: 403, session: 200, nobody: 401 },
  "POST /api/projects": { key: 403, session: 201, nobody: 401, body: () => ({ name: "p" }) },
  "PATCH /api/projects/{slug}": {
    key: 403,
    session: 404,
    nobody: 401,
    path: () => "/api/projects/default",
    body: () => ({ name: "stolen" }),
  },
  "DELETE /api/projects/{slug}": {
    key: 403,
    session: 404,
    nobody: 401,
    path: () => "/api/projects/default?confirm=default",
  },
  "POST /api/projects/{slug}/leave": {
    key: 403,
    session: 404,
    nobody: 401,
    path: () => "/api/projects/default/leave",
  },
  "POST /api/projects/{slug}/transfer": {
    key: 403,
    session: 404,
    nobody: 401,
    path: () => "/api/projects/default/transfer",
    body: ({ member }) => ({ accountId: member }),
  },
  "GET /api/preferences": { key: 403, session: 200, nobody: 401 },
  "PATCH /api/preferences": { key: 403, session: 200, nobody: 401, body: () => ({ timeZone: "UTC" }) },
  "PUT /api/preferences/levels": {
    key: 403,
    session: 404,
    nobody: 401,
    body: ({ destination }) => ({ project: "default", destination, level: "none" }),
  },
  "POST /api/preferences/mutes": {
    key: 403,
    session: 404,
    nobody: 401,
    body: () => ({ project: "default", channel: secret, minutes: null }),
  },
  "DELETE /api/preferences/mutes/{id}": {
    key: 403,
    session: 404,
    nobody: 401,
    path: ({ mute }) => `/api/preferences/mutes/${mute}`,
  },
  "DELETE /api/preferences/unsubscribed/{project}": {
    key: 403,
    session: 404,
    nobody: 401,
    path: () => "/api/preferences/unsubscribed/default",
  },
  "GET /api/unsubscribe/{token}": { key: 404, session: 404, nobody: 404, path: () => "/api/unsubscribe/a.b" },
  "POST /unsubscribe/{token}": { key: 404, session: 404, nobody: 404, path: () => "/unsubscribe/a.b" },
  "GET /api/notifications": { key: 403, session: 200, nobody: 401 },
  "GET /api/notifications/groups": { key: 403, session: 200, nobody: 401 },
  "POST /api/notifications/read": {
    key: 403,
    session: 200,
    nobody: 401,
    body: ({ notification }) => ({ ids: [notification] }),
  },
  "GET /api/destinations": { key: 403, session: 200, nobody: 401 },
  "POST /api/destinations": {
    key: 403,
    session: 201,
    nobody: 401,
    body: () => ({ kind: "browser", label: "b", subscription: subscription("other") }),
  },
  "PATCH /api/destinations/{id}": {
    key: 403,
    session: 404,
    nobody: 401,
    path: ({ destination }) => `/api/destinations/${destination}`,
    body: () => ({ enabled: false }),
  },
  "DELETE /api/destinations/{id}": {
    key: 403,
    session: 404,
    nobody: 401,
    path: ({ destination }) => `/api/destinations/${destination}`,
  },
  "POST /api/destinations/{id}/test": {
    key: 403,
    session: 404,
    nobody: 401,
    path: ({ destination }) => `/api/destinations/${destination}/test`,
  },
  "GET /api/me": { key: 403, session: 200, nobody: 401 },
  "GET /api/account": { key: 403, session: 200, nobody: 401 },
  "PATCH /api/account": { key: 403, session: 200, nobody: 401, body: () => ({ name: "Renamed" }) },
  "POST /api/account/email": {
    key: 403,
    session: 403,
    nobody: 401,
    body: () => ({ email: "x@example.com", password: "not the password" }),
  },
  "POST /api/account/email/confirm": { key: 403, session: 403, nobody: 403, body: () => ({ token: "t" }) },
  "POST /api/account/email/restore": { key: 403, session: 403, nobody: 403, body: () => ({ token: "t" }) },
  "POST /api/auth/reset-password": {
    key: 403,
    session: 403,
    nobody: 403,
    body: () => ({ token: "t", newPassword: "a new password" }),
  },
  "PATCH /api/account/passkeys/{id}": {
    key: 403,
    session: 404,
    nobody: 401,
    path: () => "/api/account/passkeys/x",
    body: () => ({ name: "Renamed" }),
  },
  "DELETE /api/account/passkeys/{id}": {
    key: 403,
    session: 404,
    nobody: 401,
    path: () => "/api/account/passkeys/x",
  },
  "POST /api/account/delete": {
    key: 403,
    session: 403,
    nobody: 401,
    body: () => ({ password: "not the password" }),
  },
  "GET /api/sessions": { key: 403, session: 200, nobody: 401 },
  "DELETE /api/sessions": { key: 403, session: 200, nobody: 401 },
  "DELETE /api/sessions/{id}": {
    key: 403,
    session: 404,
    nobody: 401,
    path: ({ session }) => `/api/sessions/${session}`,
  },
  "GET /api/sign-in": { key: 200, session: 200, nobody: 200 },
  "POST /api/sign-in/provider": { key: 404, session: 404, nobody: 404, body: () => ({}) },
  "POST /api/password-reset": {
    key: 409,
    session: 409,
    nobody: 409,
    body: () => ({ email: "x@example.com" }),
  },
  "POST /api/sign-up": { key: 403, session: 403, nobody: 403, body: () => ({ email: "x@example.com" }) },
  "POST /api/sign-up/confirm": {
    key: 403,
    session: 403,
    nobody: 403,
    body: () => ({ token: "t", password: "long enough password" }),
  },
  "GET /api/setup": { key: 200, session: 200, nobody: 200 },
  "POST /api/setup": {
    key: 409,
    session: 409,
    nobody: 409,
    body: () => ({ token: "t", email: "x@example.com", password: "long enough password" }),
  },
  // Only for the owner of the installation.
  "GET /api/status": { key: 403, session: 403, nobody: 401 },
  "GET /healthz": { key: 200, session: 200, nobody: 200 },
  "GET /readyz": { key: 200, session: 200, nobody: 200 },
};

let app: TestApp;
let ids: Ids;
let owner: Record<string, string>;
let credentials: Record<"key" | "session" | "nobody", Record<string, string>>;

beforeAll(async () => {
  app = await testApp();
  owner = { cookie: await app.signIn(), origin: app.address, "content-type": "application/json" };
  const json = async <Result>(path: string, init?: RequestInit) =>
    (await (await app.request(path, { headers: owner, ...init })).json()) as Result;
  const post = <Result>(path: string, body: unknown) =>
    json<Result>(path, { method: "POST", body: JSON.stringify(body) });
  type Made<Name extends string> = { [_ in Name]: { id: string } };
  const { event } = await post<Made<"event">>("/api/events", {
    channel: secret,
    name: secret,
    userId: secret,
    notify: true,
    tags: { [secret]: secret },
  });
  await untilFannedOut(app);
  const { key } = await post<Made<"key">>("/api/keys", { name: secret });
  const { rule } = await post<Made<"rule">>("/api/rules", {
    name: secret,
    q: secret,
    when: { type: "each" },
    to: { everyone: true, members: [], destinations: [] },
    resolve: "state=ok",
  });
  await post("/api/events", { channel: secret, name: secret });
  await untilFannedOut(app);
  const { alerts } = await json<{ alerts: { id: string }[] }>("/api/alerts");
  const { silence } = await post<Made<"silence">>("/api/silences", {
    reason: secret,
    q: secret,
    to: new Date(Date.now() + 3_600_000).toISOString(),
  });
  const { cohort } = await post<Made<"cohort">>("/api/cohorts", {
    name: secret,
    conditions: [{ type: "events", q: secret }],
  });
  await post("/api/groups", {
    type: "company",
    id: secret,
    properties: { name: secret },
    userId: secret,
  });
  const { note } = await post<Made<"note">>(`/api/users/${secret}/notes`, { text: secret });
  const { view } = await post<Made<"view">>("/api/views", { name: secret, q: secret, shared: true });
  const { destination } = await post<Made<"destination">>("/api/destinations", {
    kind: "browser",
    label: secret,
    subscription: subscription(secret),
  });
  const { destination: projectDestination } = await post<Made<"destination">>("/api/project-destinations", {
    kind: "webhook",
    name: secret,
    settings: { url: `https://${secret}.example.com/hook` },
  });
  const { webhook, url } = await post<Made<"webhook"> & { url: string }>("/api/webhooks", {
    name: secret,
    source: "plain",
    channel: secret,
    mapping: { name: secret },
  });
  await fetch(url, { method: "POST", body: JSON.stringify({ secret }) });
  const { requests } = await json<{ requests: { id: string }[] }>(`/api/webhooks/${webhook.id}/requests`);
  const { heartbeat, url: pingUrl } = await post<Made<"heartbeat"> & { url: string }>("/api/heartbeats", {
    name: secret,
    slug: "own",
    channel: secret,
    schedule: { type: "period", minutes: 5 },
  });
  await fetch(pingUrl, { method: "POST", body: secret });
  // Its event is recorded after the answer.
  await until(async () => (await app.list("?tag.heartbeat=own")).length === 1);
  const { mute } = await post<Made<"mute">>("/api/preferences/mutes", {
    project: "default",
    channel: "quiet",
    name: secret,
    minutes: null,
  });
  const { notifications } = await json<{ notifications: { id: string }[] }>("/api/notifications");
  await app.post({ channel: secret, name: 7 });
  const { rejected } = await json<{ rejected: { id: string }[] }>("/api/events/rejected");
  const { invitation } = await post<Made<"invitation">>("/api/invitations", {
    email: `${secret}@example.com`,
    role: "viewer",
  });
  const { members } = await json<{ members: { id: string }[] }>("/api/members");
  const { schedule } = await post<Made<"schedule">>("/api/on-call", {
    name: secret,
    timeZone: "UTC",
    rotations: [weekly(members[0]!.id)],
    notify: false,
  });
  const { override } = await post<Made<"override">>(`/api/on-call/${schedule.id}/overrides`, {
    from: "2098-01-01T00:00:00Z",
    to: "2098-01-02T00:00:00Z",
  });
  await post("/api/identify", { userId: secret, anonymousId: "joined visitor" });
  const { job } = await json<Made<"job">>("/api/users/nobody", { method: "DELETE" });
  const { board } = await post<Made<"board">>("/api/boards", {
    name: secret,
    tiles: [
      { id: secret, type: "text", title: secret, x: 0, y: 0, w: 4, h: 4, text: secret },
      { id: "value", type: "value", title: secret, x: 4, y: 0, w: 4, h: 4, key: secret },
    ],
  });
  const { annotation } = await post<Made<"annotation">>("/api/annotations", {
    ...{ type: "note", name: secret, at: new Date().toISOString(), board: board.id },
  });
  const { report } = await post<Made<"report">>("/api/reports", {
    board: board.id,
    destination: projectDestination.id,
    schedule: { every: "day", at: "08:00", timeZone: "UTC" },
  });
  await json(`/api/insights/${secret}`, { method: "PUT", body: '{"value":7,"title":"confidential"}' });
  const { sessions } = await json<{ sessions: { id: string }[] }>("/api/sessions");
  ids = {
    event: event.id,
    rejected: rejected[0]!.id,
    key: key.id,
    rule: rule.id,
    alert: alerts[0]!.id,
    silence: silence.id,
    annotation: annotation.id,
    cohort: cohort.id,
    note: note.id,
    view: view.id,
    destination: destination.id,
    mute: mute.id,
    projectDestination: projectDestination.id,
    webhook: webhook.id,
    webhookRequest: requests[0]!.id,
    heartbeat: heartbeat.id,
    schedule: schedule.id,
    override: override.id,
    report: report.id,
    notification: notifications[0]!.id,
    board: board.id,
    job: job.id,
    member: members[0]!.id,
    invitation: invitation.id,
    session: sessions[0]!.id,
  };
  const other = await app.another("Other", "other@example.com");
  credentials = {
    key: { "x-api-key": other.secret },
    session: { cookie: await app.signIn("other@example.com"), origin: app.address },
    nobody: {},
  };
});
afterAll(() => app[Symbol.asyncDispose]());

const dayMs = 24 * 60 * 60 * 1_000;
/** The time of all events of this test. */
const range = `from=${Date.now() - dayMs}&to=${Date.now() + dayMs}`;

/** Everything that the owner can read in the first project. */
async function everything(): Promise<string[]> {
  const paths = [
    "events",
    `events/${ids.event}`,
    `events/${ids.event}/deliveries`,
    "events/rejected",
    "events/rejected/groups",
    "channels",
    `stats?split=name&${range}&by=day`,
    `stats?metric=users&split=name&${range}&by=day`,
    `funnel?step=-unknown&step=-unknown&split=name&${range}`,
    `stats/users?${range}`,
    `stats?split=group.company&${range}&by=day`,
    `stats/users?per=company&${range}`,
    "users",
    `users/${secret}`,
    "boards",
    `boards/${ids.board}`,
    `boards/${ids.board}/tiles/value/data?${range}`,
    `insights/${secret}`,
    "keys",
    "projects",
    "views",
    "sidebar",
    "notifications",
    "notifications/groups",
    "destinations",
    "preferences",
    "project-destinations",
    "webhooks",
    `webhooks/${ids.webhook}/requests`,
    "on-call",
    `on-call/${ids.schedule}/overrides`,
    "connections",
    "reports",
    // The others are being sent.
    "deliveries?kind=dashboard",
    "members",
    "invitations",
    "account",
    "sessions",
  ];
  const texts = await Promise.all(paths.map(told));
  return texts.map((text) =>
    text.replace(/"(lastUsedAt|lastUsedAddress|lastSeenAt|firstSeenAt)":("[^"]*"|null)/g, ""),
  );
}

/** What the owner is told; again if a busy machine took too long to count, or to reach the database. */
async function told(path: string): Promise<string> {
  for (;;) {
    const response = await app.request(`/api/${path}`, { headers: owner });
    const text = await response.text();
    if (response.status !== 503 && !text.includes('"unread":null')) return text;
  }
}

/** A response's body, or the beginning of an endless stream. */
async function read(response: Response): Promise<string> {
  if (!response.headers.get("content-type")?.startsWith("text/event-stream")) return response.text();
  const reader = response.body!.getReader();
  let text = "";
  const decoder = new TextDecoder();
  const timeUp = Bun.sleep(100).then(() => null);
  for (;;) {
    const chunk = await Promise.race([reader.read(), timeUp]);
    if (!chunk || chunk.done) break;
    text += decoder.decode(chunk.value);
  }
  await reader.cancel();
  return text;
}

function requestAs(route: string, who: keyof typeof credentials, query = ""): Promise<Response> {
  const [method, template] = route.split(" ") as [string, string];
  const row = table[route]!;
  const path = row.path?.(ids) ?? template;
  return app.request(
    path + (query && (path.includes("?") ? "&" : "?") + query),
    {
      method,
      headers: { ...credentials[who], ...(row.body && { "content-type": "application/json" }) },
      ...(row.body && { body: JSON.stringify(row.body(ids)) }),
    },
    null,
  );
}

test("every route of the API has a row in the table", async () => {
  const { paths } = (await (await app.request("/openapi.json")).json()) as { paths: Record<string, object> };
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(Object.keys(table).toSorted()).toEqual(routes.toSorted());
});

describe("nothing of another's project can be read or changed", () => {
  /** The state before all of these tests, and after them. */
  let known: string[] | undefined;
  for (const [route, row] of Object.entries(table)) {
    test(`${route}: ${row.key} with another project's key, ${row.session} with another account's session, ${row.nobody} with neither`, async () => {
      known ??= await everything();
      for (const who of ["key", "session", "nobody"] as const) {
        const response = await requestAs(route, who);
        const text = await read(response);
        expect(`${who}: ${response.status} ${text}`).toStartWith(`${who}: ${row[who]} `);
        expect(text).not.toContain(secret);
      }
      // Which route changed something. That anything did is found after all of them, once for all routes.
      if (effort(false, !route.startsWith("GET "))) expect(await everything()).toEqual(known);
    });
  }

  test("all of these requests changed nothing", async () => {
    expect(await everything()).toEqual(known!);
  });

  test("with the slug of another's project, a session is told that it doesn't exist", async () => {
    for (const route of Object.keys(table)) {
      if (
        !/\/api\/(events|channels|cohorts|groups|group-types|stats|funnel|paths|stickiness|lifecycle|retention|boards|annotations|insights|users|views|sidebar|keys|audit|alerts|silences|members|deliveries|destination-kinds|project-destinations|webhooks|connections|invitations(?!\/token))/.test(
          route,
        )
      )
        continue;
      const response = await requestAs(route, "session", "project=default");
      expect(`${route} ${response.status}`).toBe(`${route} 404`);
      expect(await response.text()).toContain("project-unknown");
    }
  });

  test("with the project in the query, a key is told to leave it out", async () => {
    for (const route of Object.keys(table)) {
      if (
        !/\/api\/(events|channels|cohorts|groups|group-types|stats|funnel|paths|stickiness|lifecycle|retention|boards(?!\/\{id\}\/link)|annotations|insights|users(?!\/\{userId\}\/notes)|audit|alerts|silences|deliveries|destination-kinds|project-destinations)/.test(
          route,
        )
      )
        continue;
      const response = await requestAs(route, "key", "project=default");
      expect(`${route} ${response.status}`).toBe(`${route} 400`);
    }
  });

  test("events with the same id in two projects show their own project's deliveries", async () => {
    const own = { channel: "c", name: "n", id: ids.event };
    expect((await app.post(own, credentials.key["x-api-key"])).status).toBe(201);
    const response = await app.request(
      `/api/events/${ids.event}/deliveries`,
      { headers: credentials.key },
      null,
    );
    expect(await response.json()).toMatchObject({ ok: true, deliveries: [] });
  });

  test("a live stream gets only its own project's events", async () => {
    using stream = await openStream(app, "", credentials.key);
    using session = await openStream(app, "?project=other", credentials.session);
    await stream.next("ready");
    await session.next("ready");
    await app.post({ channel: secret, name: secret, notify: true });
    await app.post({ channel: "c", name: "own" }, credentials.key["x-api-key"]);
    for (const own of [stream, session])
      expect(await own.next()).toMatchObject({ type: "event", data: expect.stringContaining('"own"') });
  });

  test("a listing by every filter of the first project is empty", async () => {
    for (const query of [
      `channel=${secret}`,
      `name=${secret}`,
      `userId=${secret}`,
      `tag.${secret}=${secret}`,
      "notify=true",
    ]) {
      const events = (await app.list(`?${query}`, credentials.key["x-api-key"])) as Event[];
      expect(events).toEqual([]);
    }
  });
});

describe("a session works only for requests from the dashboard's own pages", () => {
  // Routes for those who have no session yet don't look at it.
  const open = new Set([
    "POST /api/setup",
    "POST /api/sign-in/provider",
    "POST /api/sign-up",
    "POST /api/sign-up/confirm",
    "POST /api/password-reset",
    "POST /api/account/email/confirm",
    "POST /api/account/email/restore",
    "POST /api/auth/reset-password",
    "POST /unsubscribe/{token}",
    "POST /alert/{token}",
    ...Object.keys(dropIns),
    ...Object.keys(sameForAll),
    "POST /hooks/{token}",
  ]);
  const changes = Object.keys(table).filter((route) => !route.startsWith("GET") && !open.has(route));
  const origins: [name: string, headers: Record<string, string>][] = [
    ["from another site", { origin: "https://evil.example" }],
    ["from a page without an origin", { origin: "null" }],
    ["from a site of the same name on another port", { origin: "http://127.0.0.1:1" }],
    ["without an origin", {}],
    ["without an origin, from another site", { "sec-fetch-site": "cross-site" }],
    ["without an origin, from a site beside", { "sec-fetch-site": "same-site" }],
  ];
  for (const [name, headers] of origins) {
    test(`a request ${name} changes nothing`, async () => {
      // Of the events of earlier tests.
      await untilFannedOut(app);
      const before = await everything();
      for (const route of changes) {
        const [method] = route.split(" ") as [string];
        const path = table[route]!.path?.(ids) ?? route.split(" ")[1]!;
        const body = table[route]!.body?.(ids);
        const response = await app.request(path, {
          method,
          headers: { cookie: owner.cookie!, "content-type": "application/json", ...headers },
          ...(body !== undefined && { body: JSON.stringify(body) }),
        });
        expect(`${route} ${response.status}`).toBe(`${route} 403`);
        expect(await response.text()).toContain("origin-forbidden");
      }
      expect(await everything()).toEqual(before);
    });
  }

  test("Sec-Fetch-Site decides, because no page can change it", async () => {
    const response = await app.request("/api/notifications/read", {
      method: "POST",
      headers: {
        cookie: owner.cookie!,
        "content-type": "application/json",
        origin: app.address,
        "sec-fetch-site": "same-site",
      },
      body: '{"ids":[]}',
    });
    expect([response.status, await response.text()]).toEqual([
      403,
      expect.stringContaining("origin-forbidden"),
    ]);
  });

  test("a request from its own page is accepted, by its origin or by Sec-Fetch-Site", async () => {
    for (const headers of [{ origin: app.address }, { "sec-fetch-site": "same-origin" }] as Record<
      string,
      string
    >[]) {
      const response = await app.request("/api/notifications/read", {
        method: "POST",
        headers: { cookie: owner.cookie!, "content-type": "application/json", ...headers },
        body: '{"ids":[]}',
      });
      expect(response.status).toBe(200);
    }
  });

  test("an invalid cookie is no session", async () => {
    for (const cookie of ["tidings.session_token=forged.forged", "tidings=1", "other=1", ""]) {
      expect((await app.request("/api/me", { headers: { cookie } }, null)).status).toBe(401);
    }
  });
});
