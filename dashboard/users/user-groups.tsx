import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { groupsTitle } from "../../server/schemas/group-texts.ts";
import { GroupLink } from "../groups/group-link.tsx";
import { groupName } from "../groups/group-text.ts";
import { groupsOfUserQuery } from "../groups/groups.ts";
import { cohortsOfUserQuery } from "./users.ts";

const chipClass =
  "hostile-line inline-flex min-h-7 max-w-full items-center rounded-md border border-line px-2 text-sm hover:bg-hover max-md:min-h-10";

/** The companies and other groups of a user, and the cohorts that they are in. Nothing where there are none. */
export function UserGroups({ project, userId }: { project: string; userId: string }) {
  const { data: groups = [] } = useQuery(groupsOfUserQuery(project, userId));
  const { data: cohorts = [] } = useQuery(cohortsOfUserQuery(project, userId));
  return (
    <>
      {[...Map.groupBy(groups, ({ type }) => type)].map(([type, own]) => (
        <section key={type} aria-label={groupsTitle(type)}>
          <h2 className="hostile mb-2 font-semibold text-sm">{groupsTitle(type)}</h2>
          <ul className="flex flex-wrap gap-1.5">
            {own.map((group) => (
              <li key={group.id} className="max-w-full">
                <GroupLink project={project} group={group} className={chipClass}>
                  {groupName(group)}
                </GroupLink>
              </li>
            ))}
          </ul>
        </section>
      ))}
      {cohorts.length > 0 && (
        <section aria-label="Cohorts">
          <h2 className="mb-2 font-semibold text-sm">Cohorts</h2>
          <ul className="flex flex-wrap gap-1.5">
            {cohorts.map(({ id, name }) => (
              <li key={id} className="max-w-full">
                <Link to="/p/$project/cohorts/$cohort" params={{ project, cohort: id }} className={chipClass}>
                  {name}
                </Link>
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}
