import { defineCommand } from "citty";
import type { DuplicateResponse, Event } from "../event/event.ts";
import { eventLine } from "./event-line.ts";
import { printLine } from "./output.ts";
import { sourceArgs, withSource } from "./source.ts";
import { ArgumentError } from "./with-store.ts";

export const logCommand = defineCommand({
  meta: {
    name: "log",
    description: "Record an event, and print its ID. Without --channel, reads it as JSON from standard input",
  },
  args: {
    name: {
      type: "positional",
      required: false,
      description: 'Name of the event, such as "Backup done"',
      valueHint: "NAME",
    },
    channel: { type: "string", alias: "c", description: "Channel", valueHint: "C" },
    user: { type: "string", alias: "u", description: "User the event is about", valueHint: "ID" },
    icon: { type: "string", description: "An emoji", valueHint: "I" },
    description: { type: "string", description: "Details, in Markdown", valueHint: "TEXT" },
    tag: {
      type: "string",
      alias: "t",
      description: "A tag; can be repeated",
      valueHint: "KEY=VALUE",
    },
    notify: { type: "boolean", description: "Notify the project's members" },
    id: { type: "string", description: "A UUIDv7. Sent twice, it is recorded once", valueHint: "UUID" },
    at: { type: "string", description: "When it happened, if not now (ISO 8601)", valueHint: "T" },
    json: { type: "boolean", description: "Print the event as JSON instead of its ID" },
    ...sourceArgs,
  },
  async run({ args, rawArgs }) {
    const tags = tagsOf(rawArgs);
    await withSource(args, ["ingest"], async (source) => {
      const body =
        args.channel === undefined && args.name === undefined
          ? await Bun.stdin.text()
          : JSON.stringify({
              channel: args.channel,
              name: args.name,
              userId: args.user,
              icon: args.icon,
              description: args.description,
              tags,
              notify: args.notify,
              id: args.id,
              createdAt: args.at,
            });
      if (body.trimStart().startsWith("["))
        throw new ArgumentError("Send one event, as a JSON object. For many, use: tidings import -");
      const { event, duplicate } = await source.json<Recorded>("/api/events", {
        method: "POST",
        body,
      });
      if (args.json) await printLine(JSON.stringify(event));
      else await printLine(process.stdout.isTTY && !duplicate ? eventLine(event) : event.id);
    });
  },
});

type Recorded = { event: Event; duplicate?: undefined } | DuplicateResponse;

/** The values of all `--tag`, of which the parser keeps only the last. */
function tagsOf(rawArgs: string[]): Record<string, string> | undefined {
  const tags: [string, string][] = [];
  for (const [index, arg] of rawArgs.entries()) {
    if (arg === "--") break;
    const text = /^(?:--tag|-t)$/.test(arg) ? rawArgs[index + 1] : /^--tag=(.*)$/s.exec(arg)?.[1];
    if (text === undefined) continue;
    const equals = text.indexOf("=");
    if (equals < 1) throw new ArgumentError(`--tag must be KEY=VALUE, such as plan=pro (got "${text}").`);
    tags.push([text.slice(0, equals), text.slice(equals + 1)]);
  }
  return tags.length > 0 ? Object.fromEntries(tags) : undefined;
}
