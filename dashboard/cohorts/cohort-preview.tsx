import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import type { CohortDraft } from "../../server/schemas/cohort.ts";
import { errorMessage } from "../api.ts";
import { countOf } from "../components/counts.ts";
import { formatNumber } from "../components/locale.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { type CohortForm, cohortOf } from "./cohort-form.ts";
import { cohortPreviewQuery } from "./cohorts.ts";

/** How long nothing was typed before people are counted again. */
const typingMs = 400;

/** How many people would be in the cohort, while it is edited. */
export function CohortPreviewNote({ form, isComplete }: { form: CohortForm; isComplete: boolean }) {
  const project = useProjectSlug();
  const { name: _, ...draft } = cohortOf(form);
  const typed = useTypedDraft(draft);
  const { data, error, isFetching } = useQuery({
    ...cohortPreviewQuery(project, isComplete ? typed : null),
    placeholderData: keepPreviousData,
  });
  return (
    <section
      aria-label="Preview"
      className="flex flex-col gap-1 rounded-md border border-line bg-canvas px-3 py-2 text-sm"
    >
      <p role="status" className="hostile font-medium" aria-busy={isFetching}>
        {!isComplete
          ? "People are counted when all conditions are complete."
          : error
            ? `No preview: ${errorMessage(error)}`
            : data
              ? `${countOf(data.people, "person", "people")} of ${formatNumber(data.of)}`
              : "Counting people…"}
      </p>
      {isComplete && !error && data && data.sample.length > 0 && (
        <p className="hostile text-muted text-xs">
          {data.sample.slice(0, 5).join(", ")}
          {data.people > Math.min(data.sample.length, 5) && "…"}
        </p>
      )}
    </section>
  );
}

/** The draft, once typing has paused. */
function useTypedDraft(draft: CohortDraft): CohortDraft {
  const json = JSON.stringify(draft);
  const [typed, setTyped] = useState(json);
  useEffect(() => {
    const timer = setTimeout(() => setTyped(json), typingMs);
    return () => clearTimeout(timer);
  }, [json]);
  return JSON.parse(typed) as CohortDraft;
}
