import { z } from "@hono/zod-openapi";
import { AlertList } from "../schemas/alert.ts";
import { HeartbeatList } from "../schemas/heartbeat.ts";
import { OnCallNowList } from "../schemas/on-call.ts";
import { SilenceList } from "../schemas/silence.ts";
import { listing } from "./inputs.ts";
import { type Tool, withQuery } from "./tool.ts";

/** The tools that tell what is wrong, and who looks after it. */
export const alertTools: readonly Tool[] = [
  {
    name: "list_alerts",
    title: "List alerts",
    description:
      "Lists what rules found that goes on until it is resolved, newest first: who looks after it, and since when it is open.",
    permission: "alerts:read",
    isReadOnly: true,
    input: z.object({
      state: z.enum(["open", "resolved"]).optional().describe("open is firing or acknowledged. Default: all"),
      ...listing,
    }),
    output: AlertList,
    run: (api, values) => api(withQuery("/api/alerts", values)),
  },
  {
    name: "list_silences",
    title: "List silences",
    description:
      "Lists times in which what they cover notifies nobody, such as deployments, newest first: who planned each, why, from when to when.",
    permission: "silences:read",
    isReadOnly: true,
    input: z.object({
      state: z.enum(["planned", "active", "ended"]).optional().describe("Default: all"),
      ...listing,
    }),
    output: SilenceList,
    run: (api, values) => api(withQuery("/api/silences", values)),
  },
  {
    name: "list_heartbeats",
    title: "List heartbeats",
    description:
      "Lists the project's heartbeats: jobs that ping when they run, with their states, schedules and last pings. Their pings and changes of state are events with the tag heartbeat.",
    permission: "heartbeats:read",
    isReadOnly: true,
    input: z.object({}),
    output: HeartbeatList,
    run: (api) => api("/api/heartbeats"),
  },
  {
    name: "who_is_on_call",
    title: "Who is on call",
    description:
      "Says who is on call now in each of the project's on-call schedules, until when, and who is next. Nobody: the owners and admins get the messages of rules.",
    permission: "on-call:read",
    isReadOnly: true,
    input: z.object({}),
    output: OnCallNowList,
    run: (api) => api("/api/on-call/now"),
  },
];
