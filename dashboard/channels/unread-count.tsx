import { limits } from "../../server/core/limits.ts";

/** How many events are unread, as a badge: "99+" from the limit on. */
export function Unread({ value }: { value: number }) {
  const text = value >= limits.unreadEvents ? `${limits.unreadEvents - 1}+` : value.toString();
  return (
    <span
      className="rounded-full bg-accent px-1.5 font-semibold text-2xs text-on-accent"
      title={`${text} unread`}
    >
      {text}
      <span className="sr-only"> unread</span>
    </span>
  );
}
