import { z } from "@hono/zod-openapi";
import { type Event, EventList } from "../event/event.ts";
import { type Api, shortened, type Values, withQuery } from "./tool.ts";

const listCharactersMax = 60_000;

export const EventPage = EventList.extend({
  isShortened: z.boolean().describe("Whether long texts are cut. get_event returns them in full"),
});

/** Returns a page of events with long texts cut, and fewer events if they are still too long. */
export async function listEvents(
  api: Api,
  values: Values,
  path = "/api/events",
): Promise<Record<string, unknown>> {
  const page = await shortPage(api, path, values);
  const sizes = page.events.map((event) => JSON.stringify(event).length);
  if (sizes.reduce((sum, size) => sum + size, 0) <= listCharactersMax) return page;
  const fitting = Math.max(1, Math.floor(listCharactersMax / Math.max(...sizes)));
  // Again with a lower limit, so that `nextCursor` is that of the last event returned.
  return shortPage(api, path, { ...values, limit: fitting });
}

async function shortPage(api: Api, path: string, values: Values) {
  const page = await api(withQuery(path, values));
  let isShortened = false;
  const short = (text: string) => {
    const cut = shortened(text);
    isShortened ||= cut !== text;
    return cut;
  };
  const events = (page.events as Event[]).map((event) => ({
    ...event,
    ...(event.description && { description: short(event.description) }),
    ...(event.tags && {
      tags: Object.fromEntries(Object.entries(event.tags).map(([key, value]) => [key, short(value)])),
    }),
  }));
  return { ...page, events, isShortened };
}
