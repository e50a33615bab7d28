import type { LucideIcon } from "lucide-react";

// On tablets the sidebar is a rail of icons: names are for screen readers and tooltips.

export const labelClass = "flex-1 md:max-lg:sr-only";
/** As large as fingers need, unless the window is low. */
export const railItemClass = "md:max-lg:[@media(min-height:640px)]:h-10!";

/** An icon of the sidebar. On the rail, which has no room for a count, a dot says that there is one. */
export function RailIcon({ icon: Icon, dot }: { icon: LucideIcon; dot: string | false }) {
  return (
    <span className="relative mx-0.5 shrink-0 md:max-lg:mx-1">
      <Icon aria-hidden className="size-4 text-faint md:max-lg:size-4.5" />
      {dot && (
        <span
          aria-hidden
          className={`absolute -top-0.5 -right-1 hidden size-2 rounded-full ring-2 ring-canvas md:max-lg:block ${dot}`}
        />
      )}
    </span>
  );
}
