import { useQuery } from "@tanstack/react-query";
import { ChartNoAxesColumn, Trash2 } from "lucide-react";
import type { InsightInList } from "../../server/schemas/insight.ts";
import { amountText } from "../boards/amounts.ts";
import { boardsQuery } from "../boards/boards.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { RowMenu } from "../components/ui/row-menu.tsx";
import { useCan } from "../projects/can.ts";
import { addInsightTile } from "./add-insight-tile.ts";

type Props = { project: string; insights: InsightInList[]; remove: (insight: InsightInList) => void };

/** The insights with when and by which key each was last set. On narrow screens each has two lines. */
export function InsightTable({ project, insights, remove }: Props) {
  const mayChange = useCan()("boards:change");
  return (
    <div className="@container overflow-hidden rounded-lg border border-line bg-raised">
      <table className="w-full text-sm @max-xl:block">
        <thead className="text-left text-muted text-xs @max-xl:sr-only">
          <tr className="[&>th]:h-9 [&>th]:border-line [&>th]:border-b [&>th]:px-4 [&>th]:font-medium">
            <th scope="col">Insight</th>
            <th scope="col" className="text-right">
              Now
            </th>
            <th scope="col">Last set</th>
            <th scope="col">
              <span className="sr-only">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody className="@max-xl:block">
          {insights.map((insight) => (
            <tr
              key={insight.key}
              className="border-line border-b last:border-b-0 @max-xl:relative @max-xl:grid @max-xl:gap-y-1 @max-xl:p-4 @max-xl:pr-14 @xl:[&>*]:px-4 @xl:[&>*]:py-2.5"
            >
              <th scope="row" className="min-w-0 text-left font-medium">
                <span className="hostile">
                  {insight.icon && <span aria-hidden>{insight.icon} </span>}
                  {insight.title}
                </span>
                <code className="block break-all font-mono font-normal text-muted text-xs">
                  {insight.key}
                </code>
              </th>
              <td className="font-medium tabular-nums @xl:whitespace-nowrap @xl:text-right">
                {amountText(insight.value)}
              </td>
              <td className="min-w-0 text-muted">
                <RelativeTime at={insight.updatedAt} form="long" />
                <span className="hostile block text-xs">{setterOf(insight)}</span>
              </td>
              <td className="@max-xl:absolute @max-xl:top-2 @max-xl:right-2">
                {mayChange && (
                  <div className="flex justify-end">
                    <InsightMenu project={project} insight={insight} remove={() => remove(insight)} />
                  </div>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function setterOf({ setBy }: InsightInList): string {
  if (!setBy) return "by a member";
  return setBy.ending === "" ? "by a key that was deleted" : `by key ${setBy.name || `…${setBy.ending}`}`;
}

type MenuProps = { project: string; insight: InsightInList; remove: () => void };

function InsightMenu({ project, insight, remove }: MenuProps) {
  const { data: boards = [] } = useQuery(boardsQuery(project));
  return (
    <RowMenu
      name={insight.title}
      actions={[
        ...boards.map(({ id, name }) => ({
          id,
          label: `Add to the board ${name}`,
          icon: ChartNoAxesColumn,
          onSelect: () => void addInsightTile(project, id, insight.key),
        })),
        { label: "Delete…", icon: Trash2, danger: true, onSelect: remove },
      ]}
    />
  );
}
