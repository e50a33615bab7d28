import { clsx } from "clsx";
import type { CountedGroup } from "../../server/schemas/counted-users.ts";
import { splitHead } from "../../server/schemas/tile-texts.ts";
import { formatNumber } from "../components/locale.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { GroupLink } from "../groups/group-link.tsx";
import { groupName } from "../groups/group-text.ts";

type WhoGroupsProps = { project: string; type: string; groups: readonly CountedGroup[] };

/** The groups that a number counts, each with the event that makes it count. */
export function WhoGroups({ project, type, groups }: WhoGroupsProps) {
  return (
    <div className="@container">
      <table className="w-full text-sm @max-xl:block @xl:table-fixed">
        <thead className="text-left text-muted text-xs @max-xl:sr-only">
          <tr className="[&>th]:h-9 [&>th]:border-line [&>th]:border-b [&>th]:px-2.5 [&>th]:font-medium [&>th:first-child]:pl-5 [&>th:last-child]:pr-5">
            <th scope="col">{splitHead(`group.${type}`)}</th>
            <th scope="col">Counted by</th>
            <th scope="col" className="text-right @xl:w-20">
              People
            </th>
          </tr>
        </thead>
        <tbody className="@max-xl:block">
          {groups.map((group) => (
            <tr
              key={group.id}
              className={clsx(
                "relative border-line border-b hover:bg-hover",
                "@max-xl:grid @max-xl:grid-cols-[1fr_auto] @max-xl:gap-x-3 @max-xl:px-4 @max-xl:py-2.5",
                "@xl:h-10 @xl:[&>*:first-child]:pl-5 @xl:[&>*:last-child]:pr-5 @xl:[&>*]:px-2.5",
              )}
            >
              <th scope="row" className="min-w-0 text-left font-medium">
                {group.createdAt === null ? (
                  <span className="hostile-line block" title="Only events name it: it was never saved">
                    {group.id} <span className="font-normal text-faint text-xs">not saved</span>
                  </span>
                ) : (
                  <GroupLink
                    project={project}
                    group={group}
                    className="hostile-line block after:absolute after:inset-0 after:content-[''] focus-visible:outline-none focus-visible:after:outline-2 focus-visible:after:outline-accent focus-visible:after:-outline-offset-2"
                  >
                    {groupName(group)}
                    {groupName(group) !== group.id && (
                      <span className="ml-2 font-normal text-faint text-xs">{group.id}</span>
                    )}
                  </GroupLink>
                )}
              </th>
              <td className="hostile-line text-muted @max-xl:col-start-1">
                {group.event.name}{" "}
                <RelativeTime at={group.event.createdAt} className="relative text-faint text-xs" />
              </td>
              <td className="text-right text-muted @max-xl:col-start-2 @max-xl:row-start-1 @max-xl:text-xs">
                {formatNumber(group.people)}
                <span className="@xl:hidden"> {group.people === 1 ? "person" : "people"}</span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
