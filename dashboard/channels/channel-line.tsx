import type { Channel } from "../../server/schemas/channel.ts";

/** Below a channel's title: its description, and whether it is archived. */
export function ChannelLine({ channel, className }: { channel: Channel; className?: string }) {
  if (!channel.description && channel.archivedAt === null) return null;
  return (
    <p
      className={`hostile shrink-0 border-line border-b px-4 py-2 text-muted text-sm md:px-5 ${className ?? ""}`}
    >
      {channel.archivedAt !== null && (
        <span className="mr-2 rounded-full bg-pressed px-2 py-0.5 font-medium text-2xs text-ink">
          Archived
        </span>
      )}
      {channel.description}
    </p>
  );
}
