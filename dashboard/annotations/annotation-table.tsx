import { useMutation, useQuery } from "@tanstack/react-query";
import { Eye, EyeOff, Pencil, Trash2 } from "lucide-react";
import type { Annotation } from "../../server/schemas/annotation.ts";
import { api, errorMessage } from "../api.ts";
import { boardsQuery } from "../boards/boards.ts";
import { Swatch } from "../charts/readout.tsx";
import { EventIcon } from "../components/event-icon.tsx";
import { CardRow, CardTable, RowActions } from "../components/ui/card-table.tsx";
import { RowMenu } from "../components/ui/row-menu.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { toast } from "../shell/toasts.tsx";
import { useDark } from "../theme/theme.ts";
import { noteTimeText } from "./annotation-form.ts";
import { refreshAnnotations } from "./annotations.ts";

type Actions = Record<"edit" | "remove", (annotation: Annotation) => void>;

/** On narrow screens each row is a small card, because the columns don't fit. */
export function AnnotationTable({ annotations, ...actions }: { annotations: Annotation[] } & Actions) {
  const canChange = useCan()("annotations:change");
  const { data: boards = [] } = useQuery(boardsQuery(useProjectSlug()));
  const isDark = useDark();
  const chartsOf = (board: string | null) =>
    board === null ? "All" : `Board ${boards.find(({ id }) => id === board)?.name ?? "that was deleted"}`;
  return (
    <CardTable columns={["Name", "Marks", "Charts", "By"]} hasActions={canChange}>
      {annotations.map((annotation) => {
        const { id, name, icon, color, createdBy } = annotation;
        return (
          <CardRow key={id}>
            <th scope="row" className="min-w-0 text-left font-medium">
              <span className="flex items-center gap-2">
                <Swatch color={color - 1} isDark={isDark} />
                {icon !== null && <EventIcon icon={icon} name={name} size="sm" bare />}
                <span className="hostile">{name}</span>
              </span>
            </th>
            <td className="min-w-0 text-muted">
              {annotation.type === "note" ? (
                noteTimeText(annotation.at)
              ) : (
                <code className="hostile font-mono text-xs">{annotation.q}</code>
              )}
            </td>
            <td className="text-muted">
              <span className="@2xl:sr-only">Charts: </span>
              {annotation.type === "note" ? (
                <span className="hostile">{chartsOf(annotation.board)}</span>
              ) : annotation.enabled ? (
                "All"
              ) : (
                "Off"
              )}
            </td>
            <td className="hostile text-muted">{createdBy ?? "A command"}</td>
            {canChange && (
              <RowActions>
                <Menu annotation={annotation} {...actions} />
              </RowActions>
            )}
          </CardRow>
        );
      })}
    </CardTable>
  );
}

function Menu({ annotation, edit, remove }: Actions & { annotation: Annotation }) {
  const toggle = useToggle();
  const isOn = annotation.type === "events" && annotation.enabled;
  return (
    <RowMenu
      name={annotation.name}
      actions={[
        { label: "Edit…", icon: Pencil, onSelect: () => edit(annotation) },
        annotation.type === "events" && {
          label: isOn ? "Turn off" : "Turn on",
          icon: isOn ? EyeOff : Eye,
          disabled: toggle.isPending,
          onSelect: () => toggle.mutate({ ...annotation, enabled: !isOn }),
        },
        { label: "Delete…", icon: Trash2, danger: true, onSelect: () => remove(annotation) },
      ]}
    />
  );
}

/** Shows or hides the events of an annotation. */
function useToggle() {
  const project = useProjectSlug();
  return useMutation({
    mutationFn: ({ id, enabled }: { id: string; enabled: boolean }) =>
      api(`/api/annotations/${id}`, { method: "PATCH", query: { project }, body: { enabled } }),
    onError: (error) =>
      toast({ title: "The annotation wasn't changed", description: errorMessage(error), failed: true }),
    onSettled: () => refreshAnnotations(project),
  });
}
