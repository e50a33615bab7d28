import type { Event } from "../event/event.ts";
import { onOneLine, styled } from "./output.ts";

/** An event on one line, in local time. */
export function eventLine({ createdAt, channelId, icon, name, userId, tags }: Event): string {
  const parts = [
    styled("dim", localTime(createdAt)),
    styled("cyan", `#${onOneLine(channelId)}`),
    `${icon ? `${onOneLine(icon)} ` : ""}${styled("bold", onOneLine(name))}`,
    ...(userId ? [styled("green", onOneLine(userId))] : []),
    ...Object.entries(tags).map(([key, value]) => styled("dim", onOneLine(`${key}=${value}`))),
  ];
  return parts.join("  ");
}

function localTime(iso: string): string {
  const date = new Date(iso);
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 19).replace("T", " ");
}
