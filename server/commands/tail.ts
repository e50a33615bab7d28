import { defineCommand } from "citty";
import type { Event } from "../event/event.ts";
import { eventLine } from "./event-line.ts";
import { countOf, filterArgs, filterQuery } from "./filter-args.ts";
import { follow } from "./follow.ts";
import { newestEvents } from "./list.ts";
import { printLine, printMessage } from "./output.ts";
import { sourceArgs, withSource } from "./source.ts";

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
      const listener = {
        onReady: printNewest,
        onEvent: print,
        onState: (sentence: string) => printMessage(sentence),
      };
      if (args.follow) await follow(source, filterQuery(args), listener);
      else await printNewest();
    }),
});
