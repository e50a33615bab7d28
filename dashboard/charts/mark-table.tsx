import { Link } from "@tanstack/react-router";
import type { MarkList } from "../../server/schemas/annotation.ts";
import { formatDate } from "../components/dates.ts";
import { EventIcon } from "../components/event-icon.tsx";
import { formatNumber } from "../components/locale.ts";
import type { ChartMark } from "./chart-marks.ts";

type MarkTableProps = {
  marks: readonly ChartMark[];
  omitted: MarkList["omitted"];
  /** The project whose events are marked. */
  project: string;
};

/** A chart's marks as a table, newest first, and how many more there are. Nothing without marks. */
export function MarkTable({ marks, omitted, project }: MarkTableProps) {
  if (marks.length === 0 && omitted.length === 0) return null;
  return (
    <table className="w-full border-collapse text-sm">
      <caption className="pb-1 text-left text-faint text-xs">
        Marks, newest first.
        {omitted.map((each) => ` ${omittedText(each)}`)}
      </caption>
      <thead>
        <tr className="border-line border-b text-left text-faint text-xs">
          <th scope="col" className="py-1 pr-4 font-medium">
            Time
          </th>
          <th scope="col" className="py-1 font-medium">
            Mark
          </th>
        </tr>
      </thead>
      <tbody>
        {marks.toReversed().map(({ key, name, icon, fromMs, toMs, eventId }) => (
          <tr key={key} className="border-line border-b">
            <th scope="row" className="whitespace-nowrap py-1 pr-4 text-left font-normal">
              {formatDate(fromMs, toMs === null ? "dayAndClock" : "weekday")}
            </th>
            <td className="hostile-line max-w-0 py-1">
              {icon !== null && <EventIcon icon={icon} name={name} size="sm" bare />}{" "}
              {eventId === null ? (
                name
              ) : (
                <Link
                  to="/p/$project/events/$id"
                  params={{ project, id: eventId }}
                  search={{}}
                  preload={false}
                  className="font-medium text-accent"
                >
                  {name}
                </Link>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** "1,900 older notes are not shown." */
function omittedText({ annotation, name, count }: MarkList["omitted"][number]): string {
  const marks = annotation === null ? (count === 1 ? "older note" : "older notes") : `older of ${name}`;
  return `${formatNumber(count)} ${marks} ${count === 1 ? "is" : "are"} not shown.`;
}
