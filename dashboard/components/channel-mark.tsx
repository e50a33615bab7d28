import { clsx } from "clsx";

/** Colors that stay apart with every kind of color blindness (Okabe and Ito), and shapes, so that 24 marks differ. */
const colors = [
  "bg-mark-1",
  "bg-mark-2",
  "bg-mark-3",
  "bg-mark-4",
  "bg-mark-5",
  "bg-mark-6",
  "bg-mark-7",
  "bg-mark-8",
] as const;
const shapes = ["rounded-[2px]", "rounded-full", "rotate-45 scale-90 rounded-[1px]"] as const;

/** A small mark that is always the same for a channel. */
export function ChannelMark({ channel, className }: { channel: string; className?: string }) {
  const hash = hashOf(channel);
  return (
    <span
      aria-hidden
      className={clsx(
        "size-2 shrink-0",
        colors[hash % colors.length],
        shapes[Math.floor(hash / colors.length) % shapes.length],
        className,
      )}
    />
  );
}

/** FNV-1a, mixed once more, because names often differ in their last letter only. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash ^= hash >>> 16;
  return Math.imul(hash, 0x45d9f3b) >>> 0;
}
