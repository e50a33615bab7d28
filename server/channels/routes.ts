import type { House } from "../house.ts";
import type { Routes } from "../routes.ts";
import { ChannelAnswer, ChannelList, NewChannel } from "../wire/channel.ts";
import { ProjectQuery } from "../wire/event-query.ts";
import { createChannel, listChannels } from "./channels.ts";

export function addChannelRoutes(routes: Routes, { store }: House): void {
  routes.add(
    {
      method: "get",
      path: "/api/channels",
      by: "project",
      tag: "Channels",
      summary: "List channels with their counts",
      query: ProjectQuery,
      answer: ChannelList,
    },
    async ({ projectId }) => ({ ok: true, channels: await listChannels(store.control, projectId) }),
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
    async ({ projectId, body }) => ({
      ok: true,
      channel: await createChannel(store.control, projectId, body),
    }),
  );
}
