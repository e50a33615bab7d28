import { useQuery } from "@tanstack/react-query";
import { clsx } from "clsx";
import { BellOff, Pencil, Trash2 } from "lucide-react";
import type { Silence } from "../../server/schemas/silence.ts";
import { formatDate } from "../components/dates.ts";
import { CardRow, CardTable, RowActions } from "../components/ui/card-table.tsx";
import { type RowAction, RowMenu } from "../components/ui/row-menu.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { rulesQuery } from "../rules/rules.ts";
import { authorOf, useEndSilence } from "./silences.ts";

type Actions = Record<"edit" | "remove", (silence: Silence) => void>;

/** On narrow screens each row is a small card, because the columns don't fit. */
export function SilenceTable({ silences, ...actions }: { silences: Silence[] } & Partial<Actions>) {
  const canChange = useCan()("silences:change");
  const { edit, remove } = actions;
  const hasActions = canChange && edit !== undefined && remove !== undefined;
  return (
    <CardTable columns={["Reason", "Covers", "Begins", "Ends"]} hasActions={hasActions}>
      {silences.map((silence) => (
        <CardRow key={silence.id}>
          <th scope="row" className="min-w-0 text-left font-medium">
            <span className="hostile">{silence.reason}</span>
            <StateMark silence={silence} />
          </th>
          <td className="min-w-0 text-muted">
            <Coverage silence={silence} />
          </td>
          <Time label="Begins" at={silence.from} />
          <Time
            label={silence.state === "ended" ? "Ended" : "Ends"}
            at={silence.to}
            by={silence.endedBy === null ? null : `by ${silence.endedBy}`}
          />
          {hasActions && (
            <RowActions>
              <Menu silence={silence} edit={edit} remove={remove} />
            </RowActions>
          )}
        </CardRow>
      ))}
    </CardTable>
  );
}

const states = {
  active: { label: "Active", dot: "bg-warn", text: "text-warn" },
  planned: { label: "Planned", dot: "border border-line-strong", text: "text-muted" },
  ended: { label: "Ended", dot: "bg-line-strong", text: "text-muted" },
} as const;

function StateMark({ silence }: { silence: Silence }) {
  const { label, dot, text } = states[silence.state];
  return (
    <span className="mt-0.5 flex items-center gap-2 font-normal text-xs">
      <span aria-hidden className={clsx("size-2 shrink-0 rounded-full", dot)} />
      <span className="hostile">
        <span className={text}>{label}</span>
        <span className="text-muted">, by {authorOf(silence)}</span>
      </span>
    </span>
  );
}

function Coverage({ silence: { q, rules } }: { silence: Silence }) {
  const { data = [] } = useQuery(rulesQuery(useProjectSlug()));
  const names = rules.map((id) => data.find((rule) => rule.id === id)?.name ?? "a deleted rule");
  return (
    <>
      {q === "" ? "All events" : <code className="hostile font-mono text-xs">{q}</code>}
      {names.length > 0 && <span className="hostile block text-xs">Only by {names.join(", ")}</span>}
    </>
  );
}

function Time({ label, at, by = null }: { label: string; at: string; by?: string | null }) {
  return (
    <td className="text-muted">
      <span className="@2xl:sr-only">{label} </span>
      <time dateTime={at} title={formatDate(at, "exact")}>
        {formatDate(at, "soon")}
      </time>
      {by !== null && <span className="hostile block text-faint text-xs">{by}</span>}
    </td>
  );
}

function Menu({ silence, edit, remove }: Actions & { silence: Silence }) {
  const end = useEndSilence(useProjectSlug());
  const last: RowAction =
    silence.state === "active"
      ? { label: "End now", icon: BellOff, disabled: end.isPending, onSelect: () => end.mutate(silence) }
      : { label: "Delete…", icon: Trash2, danger: true, onSelect: () => remove(silence) };
  return (
    <RowMenu
      name={silence.reason}
      actions={[{ label: "Edit…", icon: Pencil, onSelect: () => edit(silence) }, last]}
    />
  );
}
