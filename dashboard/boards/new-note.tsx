import { Suspense } from "react";
import type { NewAnnotationProps } from "../annotations/annotation-dialogs.tsx";
import { lazyPart } from "../components/lazy-part.tsx";
import { useTileSource } from "./boards.ts";

const NewAnnotationDialog = lazyPart<NewAnnotationProps>(
  async () => (await import("../annotations/annotation-dialogs.tsx")).NewAnnotationDialog,
);

/** A dialog for a note about a time of a board's chart. */
export function NewNote({ at, close }: { at: Date; close: () => void }) {
  const { board } = useTileSource();
  return (
    <Suspense fallback={null}>
      <NewAnnotationDialog note={{ at, board }} close={close} />
    </Suspense>
  );
}
