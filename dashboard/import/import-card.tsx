import { X } from "lucide-react";
import { Button, IconButton } from "../components/ui/button.tsx";
import { ImportProgress, titleOf } from "./import-progress.tsx";
import { type Import, showImport } from "./imports.ts";

/** An import's progress and result, above every page. */
export function ImportCard({ current }: { current: Import }) {
  return (
    <div className="animate-rise rounded-lg border border-line-strong bg-raised p-3 shadow-md">
      <div className="-mt-1 mb-1 flex min-h-8 items-center gap-2">
        <p className="flex-1 font-medium text-sm">{titleOf(current)}</p>
        {current.state === "running" ? (
          <Button variant="ghost" onClick={current.stop}>
            Stop
          </Button>
        ) : (
          <IconButton label="Hide" className="size-7 max-md:size-10" onClick={() => showImport(null)}>
            <X aria-hidden className="size-3.5" />
          </IconButton>
        )}
      </div>
      <ImportProgress current={current} />
    </div>
  );
}
