import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { UsersRound } from "lucide-react";
import { useState } from "react";
import type { CohortDraft } from "../../server/schemas/cohort.ts";
import { errorMessage } from "../api.ts";
import { Button } from "../components/ui/button.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { NewCohortDialog } from "./cohort-dialogs.tsx";
import { formOf } from "./cohort-form.ts";

type Props = {
  /** The conditions of the cohort, which can take a request. */
  conditions: () => CohortDraft["conditions"] | Promise<CohortDraft["conditions"]>;
  /** Why a list can't be saved. */
  disabledBecause?: string | undefined;
};

/** A button that makes a list of people a cohort: it asks for a name, and shows the conditions. */
export function SaveAsCohort({ conditions, disabledBecause }: Props) {
  const project = useProjectSlug();
  const navigate = useNavigate();
  const canChange = useCan()("cohorts:change");
  const [given, setGiven] = useState<CohortDraft["conditions"] | null>(null);
  const reading = useMutation({ mutationFn: async () => conditions(), onSuccess: setGiven });
  if (!canChange) return null;
  return (
    <>
      <Button
        busy={reading.isPending}
        disabled={disabledBecause !== undefined}
        title={disabledBecause}
        onClick={() => reading.mutate()}
      >
        <UsersRound aria-hidden className="size-4" />
        Save as cohort
      </Button>
      {reading.error && (
        <span role="alert" className="hostile text-danger text-xs">
          {errorMessage(reading.error)}
        </span>
      )}
      {given && (
        <NewCohortDialog
          given={formOf({ name: "", match: "all", conditions: given })}
          created={({ id }) =>
            void navigate({ to: "/p/$project/cohorts/$cohort", params: { project, cohort: id } })
          }
          close={() => setGiven(null)}
        />
      )}
    </>
  );
}
