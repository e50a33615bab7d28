import type { QueryClient } from "@tanstack/react-query";
import type { Project } from "../../server/schemas/project.ts";
import { meQuery } from "../account/me.ts";

/** Shows a changed or new project everywhere, before the account is read again. */
export function putProject(queries: QueryClient, project: Project): void {
  queries.setQueryData(meQuery.queryKey, (me) => {
    if (!me) return me;
    const known = me.projects.some((each) => each.slug === project.slug);
    const projects = known
      ? me.projects.map((each) => (each.slug === project.slug ? project : each))
      : [...me.projects, project];
    return { ...me, projects };
  });
}
