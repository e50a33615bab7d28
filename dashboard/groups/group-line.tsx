import { formatNumber } from "../components/locale.ts";
import { lineLink } from "../components/ui/line-table.tsx";
import { GroupLink } from "./group-link.tsx";
import { groupName } from "./group-text.ts";

type GroupLineLinkProps = { project: string; group: Parameters<typeof groupName>[0] & { type: string } };

/** The link of a group's row: its name, and its ID if that is another. */
export function GroupLineLink({ project, group }: GroupLineLinkProps) {
  const name = groupName(group);
  return (
    <GroupLink project={project} group={group} className={lineLink}>
      {name}
      {name !== group.id && <span className="ml-2 font-normal text-faint text-xs">{group.id}</span>}
    </GroupLink>
  );
}

/** How many people are in a group. Without the head of a column, it says what the number is. */
export function PeopleCount({ people }: { people: number }) {
  return (
    <>
      {formatNumber(people)}
      <span className="@xl:hidden"> {people === 1 ? "person" : "people"}</span>
    </>
  );
}
