import { ChevronRight } from "lucide-react";
import type { Event } from "../../server/event/event.ts";
import { CodeBlock } from "../components/ui/code-block.tsx";

export function EventJson({ event }: { event: Event }) {
  return (
    <details className="group border-line border-t px-4 py-3 md:px-5">
      <summary className="flex h-8 cursor-pointer list-none items-center gap-1.5 font-semibold text-sm [&::-webkit-details-marker]:hidden">
        <ChevronRight aria-hidden className="size-4 text-faint transition-transform group-open:rotate-90" />
        JSON
      </summary>
      <div className="pt-2 pb-3">
        <CodeBlock
          label="As returned by the API"
          code={JSON.stringify(event, null, 2)}
          copyLabel="Copy JSON"
        />
      </div>
    </details>
  );
}
