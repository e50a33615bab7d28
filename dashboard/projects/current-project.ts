import { useParams } from "@tanstack/react-router";
import { useMe } from "../account/me.ts";

let last: string | undefined;

/**
 * The project of the address. A page that belongs to no project, such as the notifications, stays with the one that
 * was open before it, so that the channel list beside it does not change.
 */
export function useProjectSlug(): string {
  const { project } = useParams({ strict: false });
  const { projects } = useMe();
  if (project !== undefined) last = project;
  const known = projects.some((each) => each.slug === last);
  return project ?? (known && last ? last : (projects[0]?.slug ?? ""));
}
