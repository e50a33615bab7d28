import { makeChange } from "../audit/changes.ts";
import { ProjectQuery } from "../event/event-query.ts";
import type { Routes } from "../http/routes.ts";
import { Done } from "../schemas/done.ts";
import {
  NewView,
  Pins,
  PinsResponse,
  SeenMarks,
  SeenResponse,
  Sidebar,
  ViewChange,
  ViewList,
  ViewResponse,
} from "../schemas/view.ts";
import type { Store } from "../storage/store.ts";
import { markSeen, seenMessage, setPins } from "./marks.ts";
import { readSidebar } from "./sidebar.ts";
import { changeView, createView, deleteView, listViews } from "./views.ts";

export function addViewRoutes(routes: Routes, { store }: { store: Store }): void {
  const { control } = store;
  routes.add(
    {
      method: "get",
      path: "/api/sidebar",
      by: "views:own",
      tag: "Views",
      summary: "Get channels and views with unread counts",
      query: ProjectQuery,
      response: Sidebar,
    },
    async (call) => ({ ...(await readSidebar(store, call)) }),
  );

  routes.add(
    {
      method: "post",
      path: "/api/sidebar/seen",
      operationId: "markChannelsSeen",
      by: "views:own",
      tag: "Views",
      summary: "Mark channels and views as read",
      description: "For the caller alone, on all devices. Their live streams get a `seen` message.",
      query: ProjectQuery,
      body: SeenMarks,
      response: SeenResponse,
    },
    async (call) => {
      await store.events.flushCounters();
      const before = await control
        .transaction()
        .execute((transaction) => markSeen(transaction, call, call.body));
      const { projectId, account } = call;
      const data = seenMessage(call.body, before);
      await store.events.tellAccount({ accountId: account.id, projectId, type: "seen", data });
      return { ...before };
    },
  );

  routes.add(
    {
      method: "put",
      path: "/api/sidebar/pins",
      operationId: "setPinnedChannels",
      by: "views:own",
      tag: "Views",
      summary: "Pin channels",
      description:
        "For the caller alone. Channels that are not listed are unpinned. `If-Match` takes the sidebar's `pinsVersion`.",
      query: ProjectQuery,
      versioned: null,
      body: Pins,
      response: PinsResponse,
      problems: [404],
    },
    async (call) => {
      const pins = await control
        .transaction()
        .execute((transaction) => setPins(transaction, call, call.body.channels, call.ifMatch));
      return { ...pins };
    },
  );

  routes.add(
    {
      method: "get",
      path: "/api/views",
      by: "views:own",
      tag: "Views",
      summary: "List saved views",
      description: "The project's, then the caller's own.",
      query: ProjectQuery,
      response: ViewList,
    },
    async (call) => ({ views: await listViews(control, call) }),
  );

  routes.add(
    {
      method: "post",
      path: "/api/views",
      by: "views:own",
      tag: "Views",
      summary: "Save a view",
      query: ProjectQuery,
      body: NewView,
      status: 201,
      response: ViewResponse,
      problems: [409],
    },
    async (call) => ({
      view: await makeChange(control, call, (change) => createView(change, call, call.body)),
    }),
  );

  routes.add(
    {
      method: "patch",
      path: "/api/views/{id}",
      by: "views:own",
      tag: "Views",
      summary: "Change or move a view",
      description: "A view of the project needs the role member.",
      query: ProjectQuery,
      versioned: "view",
      body: ViewChange,
      response: ViewResponse,
      problems: [404],
    },
    async (call) => {
      const { body, ifMatch, parameter } = call;
      const view = await makeChange(control, call, (change) =>
        changeView(change, call, parameter("id"), body, ifMatch),
      );
      return { view };
    },
  );

  routes.add(
    {
      method: "delete",
      path: "/api/views/{id}",
      by: "views:own",
      tag: "Views",
      summary: "Delete a view",
      description: "A view of the project needs the role member.",
      query: ProjectQuery,
      response: Done,
      problems: [404],
    },
    async (call) => {
      await makeChange(control, call, (change) => deleteView(change, call, call.parameter("id")));
    },
  );
}
