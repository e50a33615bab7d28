import { makeChange } from "../audit/changes.ts";
import { limits } from "../core/limits.ts";
import { roleMay } from "../core/permissions.ts";
import { problem } from "../core/problems.ts";
import { msOf, ProjectQuery } from "../event/event-query.ts";
import type { Access } from "../http/caller.ts";
import type { Routes } from "../http/routes.ts";
import { Done } from "../schemas/done.ts";
import {
  NewOnCallOverride,
  NewOnCallSchedule,
  OnCallNowList,
  OnCallOverrideList,
  OnCallOverrideResponse,
  OnCallScheduleChange,
  OnCallScheduleList,
  OnCallScheduleResponse,
  ShiftList,
  ShiftQuery,
} from "../schemas/on-call.ts";
import type { Store } from "../storage/store.ts";
import { createOverride, deleteOverride, listOverrides, type OverrideAuthor } from "./overrides.ts";
import {
  changeSchedule,
  createSchedule,
  deleteSchedule,
  getSchedule,
  listSchedules,
  listShifts,
} from "./schedules.ts";

type Deps = { store: Pick<Store, "control">; handOvers: { wake(): void } };

const tag = "On call";
const dayMs = 24 * 60 * 60 * 1_000;
const shiftDays = 14;

export function addOnCallRoutes(routes: Routes, { store: { control }, handOvers }: Deps): void {
  routes.add(
    {
      method: "get",
      path: "/api/on-call",
      operationId: "listOnCallSchedules",
      by: "on-call:read",
      tag,
      summary: "List on-call schedules, oldest first",
      query: ProjectQuery,
      response: OnCallScheduleList,
    },
    async ({ projectId }) => ({ schedules: await listSchedules(control, projectId, Date.now()) }),
  );

  routes.add(
    {
      method: "post",
      path: "/api/on-call",
      operationId: "createOnCallSchedule",
      by: "on-call:manage",
      tag,
      summary: "Create an on-call schedule",
      query: ProjectQuery,
      body: NewOnCallSchedule,
      status: 201,
      response: OnCallScheduleResponse,
      problems: [409],
    },
    async (call) => {
      const schedule = await makeChange(control, call, (change) =>
        createSchedule(change, call.body, Date.now()),
      );
      handOvers.wake();
      return { schedule };
    },
  );

  routes.add(
    {
      method: "get",
      path: "/api/on-call/now",
      operationId: "getOnCallNow",
      by: "on-call:read",
      tag,
      summary: "Get who is on call now, in each schedule",
      query: ProjectQuery,
      response: OnCallNowList,
    },
    async ({ projectId }) => {
      const schedules = await listSchedules(control, projectId, Date.now());
      return { schedules: schedules.map(({ id, name, timeZone, now }) => ({ id, name, timeZone, ...now })) };
    },
  );

  routes.add(
    {
      method: "get",
      path: "/api/on-call/{id}",
      operationId: "getOnCallSchedule",
      by: "on-call:read",
      tag,
      summary: "Get an on-call schedule",
      query: ProjectQuery,
      response: OnCallScheduleResponse,
      problems: [404],
    },
    async ({ projectId, parameter }) => ({
      schedule: await getSchedule(control, projectId, parameter("id"), Date.now()),
    }),
  );

  routes.add(
    {
      method: "patch",
      path: "/api/on-call/{id}",
      operationId: "changeOnCallSchedule",
      by: "on-call:manage",
      tag,
      summary: "Change an on-call schedule",
      query: ProjectQuery,
      versioned: "on-call",
      body: OnCallScheduleChange,
      response: OnCallScheduleResponse,
      problems: [404, 409],
    },
    async (call) => {
      const schedule = await makeChange(control, call, (change) =>
        changeSchedule(change, call.parameter("id"), call.body, call.ifMatch, Date.now()),
      );
      handOvers.wake();
      return { schedule };
    },
  );

  routes.add(
    {
      method: "delete",
      path: "/api/on-call/{id}",
      operationId: "deleteOnCallSchedule",
      by: "on-call:manage",
      tag,
      summary: "Delete an on-call schedule",
      description: "Rules that notify whoever is on call in it must be changed first.",
      query: ProjectQuery,
      response: Done,
      problems: [404, 409],
    },
    async (call) => {
      await makeChange(control, call, (change) => deleteSchedule(change, call.parameter("id")));
    },
  );

  routes.add(
    {
      method: "get",
      path: "/api/on-call/{id}/shifts",
      operationId: "listOnCallShifts",
      by: "on-call:read",
      tag,
      summary: "List who is on call from when to when",
      description: "With the overrides that are kept: those that ended at most 92 days ago.",
      query: ShiftQuery,
      response: ShiftList,
      problems: [404],
    },
    async ({ projectId, parameter, query }) => {
      const fromMs = query.from === undefined ? Date.now() : msOf(query.from);
      const toMs = query.to === undefined ? fromMs + shiftDays * dayMs : msOf(query.to);
      if (fromMs >= toMs) throw problem("query-invalid", { detail: '"from" must be before "to".' });
      if (toMs - fromMs > limits.onCallShiftDays * dayMs)
        throw problem("query-invalid", {
          detail: `"to" must be at most ${limits.onCallShiftDays} days after "from".`,
        });
      return { shifts: await listShifts(control, projectId, parameter("id"), { fromMs, toMs }) };
    },
  );

  routes.add(
    {
      method: "get",
      path: "/api/on-call/{id}/overrides",
      operationId: "listOnCallOverrides",
      by: "on-call:read",
      tag,
      summary: "List the overrides of a schedule that haven't ended, the earliest first",
      query: ProjectQuery,
      response: OnCallOverrideList,
      problems: [404],
    },
    async ({ projectId, parameter }) => ({
      overrides: await listOverrides(control, projectId, parameter("id"), Date.now()),
    }),
  );

  routes.add(
    {
      method: "post",
      path: "/api/on-call/{id}/overrides",
      operationId: "createOnCallOverride",
      by: "on-call:take",
      tag,
      summary: "Take a shift, or give it to another member",
      description:
        "Whatever the rotations say. Of several overrides at a moment, the latest one counts. Members take shifts for themselves; owners, admins and keys give them to others, too.",
      query: ProjectQuery,
      body: NewOnCallOverride,
      status: 201,
      response: OnCallOverrideResponse,
      problems: [404, 409],
    },
    async (call) => {
      const override = await makeChange(control, call, (change) =>
        createOverride(change, call.parameter("id"), call.body, authorOf(call), Date.now()),
      );
      handOvers.wake();
      return { override };
    },
  );

  routes.add(
    {
      method: "delete",
      path: "/api/on-call/{id}/overrides/{override}",
      operationId: "deleteOnCallOverride",
      by: "on-call:take",
      tag,
      summary: "Delete an override",
      description: "The rotations say again who is on call.",
      query: ProjectQuery,
      response: Done,
      problems: [404],
    },
    async (call) => {
      const { parameter } = call;
      await makeChange(control, call, (change) =>
        deleteOverride(change, parameter("id"), parameter("override"), authorOf(call), Date.now()),
      );
      handOvers.wake();
    },
  );
}

function authorOf(access: Access): OverrideAuthor {
  return access.by === "key"
    ? { accountId: null, mayManage: true }
    : { accountId: access.account.id, mayManage: roleMay(access.role, "on-call:manage") };
}
