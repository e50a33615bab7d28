import { type ReactNode, useState } from "react";
import { ApiError } from "../api.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { Alert } from "../components/ui/states.tsx";
import { useChangedBy } from "./changed-by.tsx";

/**
 * The version that a confirmation replaces, as it was shown. If somebody else was faster, `note` says so, and
 * confirming once more replaces the current version.
 */
export function useKnownVersion<Thing>(thing: Thing) {
  const [known, setKnown] = useState(thing);
  const [conflict, setConflict] = useState<ApiError | null>(null);
  const who = useChangedBy(conflict?.change, false);
  const note: ReactNode = conflict && (
    <Alert>
      {who.name} has changed this{who.isSelf && " in another tab or browser"}
      {conflict.change && (
        <>
          {" "}
          <RelativeTime at={conflict.change.at} form="long" />
        </>
      )}
      . Nothing was replaced. Do it now only if you want to replace that too.
    </Alert>
  );
  return {
    known,
    /** For a mutation: learns what there is now. */
    onError(error: unknown) {
      if (!(error instanceof ApiError) || error.code !== "changed-meanwhile") return;
      setKnown(error.current as Thing);
      setConflict(error);
    },
    note,
    /** An error of the mutation that the note doesn't explain. */
    errorOf: (error: unknown) =>
      error instanceof ApiError && error.code === "changed-meanwhile" ? null : error,
  };
}
