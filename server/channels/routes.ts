import { ProjectQuery } from "../event/event-query.ts";
import type { Routes } from "../http/routes.ts";
import type { House } from "../services.ts";
import { ChannelAnswer, ChannelChange, ChannelList, ChannelListQuery, NewChannel } from "../wire/channel.ts";
import { changeChannel, createChannel, listChannels } from "./channels.ts";

export function addChannelRoutes(routes: Routes, { store, projectChannels, upkeep }: House): void {
  routes.add(
    {
      method: "get",
      path: "/api/channels",
      by: "project",
      tag: "Channels",
      summary: "List channels",
      query: ChannelListQuery,
      answer: ChannelList,
    },
    async ({ projectId, query: { archived } }) => {
      await store.events.flushCounters();
      return {
        ok: true,
        channels: await listChannels(store.control, projectId, archived && archived === "true"),
      };
    },
  );

  routes.add(
    {
      method: "post",
      path: "/api/channels",
      by: "project",
      tag: "Channels",
      summary: "Create a channel",
      query: ProjectQuery,
      body: NewChannel,
      status: 201,
      answer: ChannelAnswer,
      problems: [409],
    },
    async ({ projectId, body }) => {
      const channel = await createChannel(store.control, projectId, body);
      projectChannels.forget(projectId);
      return { ok: true, channel };
    },
  );

  routes.add(
    {
      method: "patch",
      path: "/api/channels/{name}",
      by: "project",
      tag: "Channels",
      summary: "Update or archive a channel",
      query: ProjectQuery,
      body: ChannelChange,
      answer: ChannelAnswer,
      problems: [404],
    },
    async ({ projectId, body, parameter }) => {
      await store.events.flushCounters();
      const channel = await changeChannel(store.control, projectId, parameter("name"), body);
      if (body.retentionDays !== undefined) upkeep.wake();
      return { ok: true, channel };
    },
  );
}
