import { defineCommand } from "citty";
import { createParser } from "eventsource-parser";
import type { Event } from "../event/event.ts";
import { eventLine } from "./event-line.ts";
import { countOf, filterArgs, filterQuery } from "./filter-args.ts";
import { newestEvents } from "./list.ts";
import { printLine } from "./output.ts";
import { AnswerError, type Source, sourceArgs, withSource } from "./source.ts";
import { UsageError } from "./with-store.ts";

/** How long to wait before connecting again: at first, and at most. */
const reconnectMs = { first: 500, most: 15_000 };
/** Events that were printed and could come again. */
const rememberedMax = 2_000;

export const tailCommand = defineCommand({
  meta: { name: "tail", description: "Print the newest events, and with -f those that arrive" },
  args: {
    follow: { type: "boolean", alias: "f", description: "Wait for further events, until Ctrl+C" },
    q: filterArgs.q,
    channel: filterArgs.channel,
    lines: {
      type: "string",
      alias: "n",
      default: "10",
      description: "How many of the newest events to begin with",
      valueHint: "N",
    },
    json: { type: "boolean", description: "Print each event as a line of JSON" },
    ...sourceArgs,
  },
  run: ({ args }) =>
    withSource(args, ["read"], async (source) => {
      const count = args.lines === "0" ? 0 : countOf("--lines", args.lines);
      const printed = new Set<string>();
      const print = async (event: Event) => {
        if (printed.has(event.id)) return;
        printed.add(event.id);
        if (printed.size > rememberedMax) printed.delete(printed.values().next().value!);
        await printLine(args.json ? JSON.stringify(event) : eventLine(event));
      };
      const printNewest = async () => {
        const newest = await Array.fromAsync(newestEvents(source, filterQuery(args), count));
        for (const event of newest.reverse()) await print(event);
      };
      if (args.follow) await follow(source, filterQuery(args), { onReady: printNewest, onEvent: print });
      else await printNewest();
    }),
});

type Listener = { onReady: () => Promise<void>; onEvent: (event: Event) => Promise<void> };

/** Follows the stream until the process ends. Connects again after a failure, from the last event on. */
async function follow(source: Source, query: URLSearchParams, listener: Listener): Promise<never> {
  let waitMs = reconnectMs.first;
  let lastEventId: string | null = null;
  let isConnected = false;
  for (;;) {
    try {
      const headers: Record<string, string> = lastEventId === null ? {} : { "last-event-id": lastEventId };
      const { body } = await source.request(`/api/events/stream?${query}`, { headers });
      let messages: { event?: string | undefined; data: string }[] = [];
      const parser = createParser({
        onEvent(message) {
          if (message.id !== undefined) lastEventId = message.id;
          messages.push(message);
        },
      });
      if (!isConnected) await listener.onReady();
      isConnected = true;
      waitMs = reconnectMs.first;
      const decoder = new TextDecoder();
      for await (const bytes of body!) {
        parser.feed(decoder.decode(bytes, { stream: true }));
        for (const { event, data } of messages) {
          if (event === "event") await listener.onEvent(JSON.parse(data) as Event);
          if (event === "reset") console.error("Some events arrived while the connection was lost.");
        }
        messages = [];
      }
    } catch (error) {
      // What fails at first is wrong; later it is a server that starts again, unless it says that the request is wrong.
      if (!isConnected || isFinal(error)) throw error;
      if (!(error instanceof UsageError))
        console.error(`The connection was lost: ${(error as Error).message}`);
    }
    await Bun.sleep(waitMs);
    waitMs = Math.min(waitMs * 2, reconnectMs.most);
  }
}

/** Whether the same request can't succeed later, for example because the key was revoked. */
function isFinal(error: unknown): boolean {
  return error instanceof AnswerError && error.status < 500 && ![408, 429].includes(error.status);
}
