import { Download } from "lucide-react";
import { Suspense, useState } from "react";
import { lazyPart } from "../components/lazy-part.tsx";
import type { FeedToolsProps } from "./feed-tools.tsx";

const FeedTools = lazyPart<FeedToolsProps>(async () => (await import("./feed-tools.tsx")).FeedTools);

type LazyFeedToolsProps = Omit<FeedToolsProps, "opensExport" | "button"> & {
  /** The histogram is split by something else than usual. */
  isSplit: boolean;
};

/** The tools of a feed, which are loaded once it is filtered or exported, or can be saved as a view. */
export function LazyFeedTools({ isSplit, ...props }: LazyFeedToolsProps) {
  const [opensExport, setOpensExport] = useState(false);
  const isNeeded = opensExport || isSplit || Object.keys(props.filters).length > 0;
  if (!isNeeded) return <ExportButton onClick={() => setOpensExport(true)} />;
  return (
    <Suspense fallback={<ExportButton />}>
      <FeedTools {...props} opensExport={opensExport} button={ExportButton} />
    </Suspense>
  );
}

function ExportButton(props: { onClick?: () => void }) {
  return (
    <button
      type="button"
      aria-label="Export"
      aria-haspopup="menu"
      className="flex h-7 items-center gap-1.5 rounded-md px-2 text-muted text-sm hover:bg-hover hover:text-ink max-md:h-10 max-md:px-3"
      {...props}
    >
      <Download aria-hidden className="size-3.5 max-md:size-4" />
      <span className="max-md:hidden">Export</span>
    </button>
  );
}
