import { makeChange } from "../audit/changes.ts";
import { joinOrStartJob, starterOf } from "../background/jobs.ts";
import type { BackgroundWorker } from "../background/worker.ts";
import { problem } from "../core/problems.ts";
import { ProjectQuery } from "../event/event-query.ts";
import type { Routes } from "../http/routes.ts";
import {
  ChannelChange,
  ChannelList,
  ChannelListQuery,
  ChannelResponse,
  NewChannel,
} from "../schemas/channel.ts";
import { JobResponse } from "../schemas/job.ts";
import type { Store } from "../storage/store.ts";
import { changeChannel, createChannel, listChannels } from "./channels.ts";
import type { ProjectChannels } from "./project-channels.ts";

export function addChannelRoutes(
  routes: Routes,
  {
    store,
    projectChannels,
    worker,
  }: { store: Store; projectChannels: ProjectChannels; worker: BackgroundWorker },
): void {
  routes.add(
    {
      method: "get",
      path: "/api/channels",
      by: "events:read",
      tag: "Channels",
      summary: "List channels",
      query: ChannelListQuery,
      response: ChannelList,
    },
    async ({ projectId, query: { archived } }) => {
      await store.events.flushCounters();
      return {
        channels: await listChannels(store.control, projectId, archived && archived === "true"),
      };
    },
  );

  routes.add(
    {
      method: "post",
      path: "/api/channels",
      by: "channels:change",
      tag: "Channels",
      summary: "Create a channel",
      query: ProjectQuery,
      body: NewChannel,
      status: 201,
      response: ChannelResponse,
      problems: [409],
    },
    async (call) => {
      const channel = await makeChange(store.control, call, (change) => createChannel(change, call.body));
      projectChannels.invalidate(call.projectId);
      return { channel };
    },
  );

  routes.add(
    {
      method: "patch",
      path: "/api/channels/{name}",
      by: "channels:change",
      tag: "Channels",
      summary: "Update or archive a channel",
      query: ProjectQuery,
      versioned: "channel",
      body: ChannelChange,
      response: ChannelResponse,
      problems: [404],
    },
    async (call) => {
      const { body, ifMatch, parameter } = call;
      await store.events.flushCounters();
      const channel = await makeChange(store.control, call, (change) =>
        changeChannel(change, parameter("name"), body, ifMatch),
      );
      if (body.retentionDays !== undefined) worker.wake();
      return { channel };
    },
  );

  routes.add(
    {
      method: "delete",
      path: "/api/channels/{name}",
      by: "channels:delete",
      tag: "Channels",
      summary: "Delete a channel and its events",
      description: "Starts a job. A new event recreates the channel.",
      query: ProjectQuery,
      status: 202,
      response: JobResponse,
      problems: [404, 409],
    },
    async (call) => {
      const name = call.parameter("name");
      const channel = await store.control
        .selectFrom("channels")
        .select("name")
        .where("projectId", "=", call.projectId)
        .where("name", "=", name)
        .executeTakeFirst();
      if (!channel)
        throw problem("channel-unknown", { detail: "This project has no channel with this name." });
      const deletion = { kind: "delete-channel", subject: name, ...starterOf(call) } as const;
      const job = await makeChange(store.control, call, async ({ transaction, projectId, record }) => {
        const started = await joinOrStartJob(transaction, { projectId, ...deletion });
        await record({ action: "channel.deleted", target: name, detail: { job: started.id } });
        return started;
      });
      worker.wake();
      return { job };
    },
  );
}
