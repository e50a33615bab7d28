import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import type { SilenceDraft, SilencePreviewResponse } from "../../server/schemas/silence.ts";
import { errorMessage } from "../api.ts";
import { countOf } from "../components/counts.ts";
import { mistakeIn } from "../feed/filters.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { silencePreviewQuery } from "./silences.ts";

/** How long nothing was typed before the preview is updated. */
const typingMs = 300;

type Props = SilenceDraft & {
  /** False while no rule is chosen. */
  isComplete: boolean;
};

/** How many of the last events the silence would have covered, and which open alerts it covers. */
export function SilencePreview({ q, rules, isComplete }: Props) {
  const project = useProjectSlug();
  const draft = useTypedDraft({ q, rules });
  // The field shows the mistake.
  const isValid = mistakeIn(draft.q) === null;
  const { data, error } = useQuery({
    ...silencePreviewQuery(project, isComplete && isValid ? draft : null),
    placeholderData: keepPreviousData,
  });
  return (
    <section
      aria-label="Preview"
      className="flex flex-col gap-1.5 rounded-md border border-line bg-canvas px-3 py-2 text-sm"
    >
      <p role="status" className="hostile font-medium">
        {!isComplete
          ? "Choose a rule to see what the silence would cover."
          : !isValid
            ? "The preview appears when the search is valid."
            : error
              ? `No preview: ${errorMessage(error)}`
              : data
                ? previewText(data)
                : "Looking at the last events…"}
      </p>
      {isComplete && isValid && !error && data && data.alerts.length > 0 && (
        <ul className="flex flex-col gap-0.5 text-muted text-xs">
          {data.alerts.map(({ id, title }) => (
            <li key={id} className="hostile">
              {title}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** The draft, once typing has paused. */
function useTypedDraft(draft: SilenceDraft): SilenceDraft {
  const json = JSON.stringify(draft);
  const [typed, setTyped] = useState(json);
  useEffect(() => {
    const timer = setTimeout(() => setTyped(json), typingMs);
    return () => clearTimeout(timer);
  }, [json]);
  return JSON.parse(typed) as SilenceDraft;
}

function previewText({ events, alerts }: SilencePreviewResponse): string {
  const open =
    alerts.length === 0 ? "No alert that is open now." : `${countOf(alerts.length, "open alert")}:`;
  return `${countOf(events, "event")} of the last 24 hours. ${open}`;
}
