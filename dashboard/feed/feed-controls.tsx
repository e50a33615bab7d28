import { Pause, Play, Rows3 } from "lucide-react";
import { lazyPart } from "../components/lazy-part.tsx";
import { IconButton } from "../components/ui/button.tsx";
import { LazyMenu, type MenuContentProps } from "../components/ui/lazy-menu.tsx";
import { useShortcuts } from "../shell/shortcuts.tsx";
import type { PauseProps } from "./display-menu.tsx";
import type { Feed, FeedState } from "./feed-store.ts";

const DisplayMenu = lazyPart<MenuContentProps & PauseProps>(
  async () => (await import("./display-menu.tsx")).default,
);

/** Buttons beside the feed's title: pause, and how it is displayed. */
export function FeedControls({ feed, state }: { feed: Feed; state: FeedState }) {
  const { isPaused } = state;
  const toggle = () => feed.pause(!isPaused);
  useShortcuts({ p: toggle });
  const label = isPaused ? "Resume the feed" : "Pause the feed";
  return (
    <>
      <IconButton
        label={label}
        title={`${label} (p)`}
        aria-pressed={isPaused}
        onClick={toggle}
        className="size-7 aria-pressed:bg-pressed aria-pressed:text-ink max-md:hidden"
      >
        {isPaused ? <Play aria-hidden className="size-3.5" /> : <Pause aria-hidden className="size-3.5" />}
      </IconButton>
      <LazyMenu
        menu={DisplayMenu}
        props={{ isPaused, toggle }}
        label="Display"
        className="flex size-7 shrink-0 items-center justify-center rounded-md text-muted hover:bg-hover hover:text-ink data-[state=open]:bg-hover max-md:size-10"
      >
        <Rows3 aria-hidden className="size-3.5" />
      </LazyMenu>
    </>
  );
}
