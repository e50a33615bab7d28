import type { CountedGroup } from "../../server/schemas/counted-users.ts";
import { splitHead } from "../../server/schemas/tile-texts.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { LineName, LineRow, LineTable } from "../components/ui/line-table.tsx";
import { GroupLineLink, PeopleCount } from "../groups/group-line.tsx";

type WhoGroupsProps = { project: string; type: string; groups: readonly CountedGroup[] };

/** The groups that a number counts, each with the event that makes it count. */
export function WhoGroups({ project, type, groups }: WhoGroupsProps) {
  return (
    <LineTable
      head={
        <>
          <th scope="col">{splitHead(`group.${type}`)}</th>
          <th scope="col">Counted by</th>
          <th scope="col" className="text-right @xl:w-20">
            People
          </th>
        </>
      }
    >
      {groups.map((group) => (
        <LineRow key={group.id}>
          <LineName>
            {group.createdAt === null ? (
              <span className="hostile-line block" title="Only events name it: it was never saved">
                {group.id} <span className="font-normal text-faint text-xs">not saved</span>
              </span>
            ) : (
              <GroupLineLink {...{ project, group }} />
            )}
          </LineName>
          <td className="hostile-line text-muted @max-xl:col-start-1">
            {group.event.name}{" "}
            <RelativeTime at={group.event.createdAt} className="relative text-faint text-xs" />
          </td>
          <td className="text-right text-muted @max-xl:col-start-2 @max-xl:row-start-1 @max-xl:text-xs">
            <PeopleCount people={group.people} />
          </td>
        </LineRow>
      ))}
    </LineTable>
  );
}
