import { Link } from "@tanstack/react-router";
import type { ComponentProps } from "react";
import { searchOf } from "./groups.ts";

type GroupLinkProps = Omit<ComponentProps<"a">, "href" | "target" | "id"> & {
  project: string;
  group: { type: string; id: string };
};

/** Links to a group's page. URLs can't have "." and ".." as a part, so these link to the group's events. */
export function GroupLink({ project, group, ...rest }: GroupLinkProps) {
  const { type, id } = group;
  const shared = { ...rest, preload: false as const };
  if (/^\.\.?$/.test(id) || /^\.\.?$/.test(type))
    return <Link to="/p/$project" params={{ project }} search={{ q: searchOf(group) }} {...shared} />;
  return <Link to="/p/$project/groups/$type/$group" params={{ project, type, group: id }} {...shared} />;
}
