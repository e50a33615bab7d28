import { useParams } from "@tanstack/react-router";
import { useMe } from "../account/me.ts";

let last: string | undefined;

/**
 * The project in the URL, if the account is a member of it. Pages without one, such as the notifications, keep the
 * project that was open before, so that the sidebar's channel list does not change.
 */
export function useProjectSlug(): string {
  const { project } = useParams({ strict: false });
  const { projects } = useMe();
  if (project !== undefined) last = project;
  const known = projects.some((each) => each.slug === last);
  return known && last ? last : (projects[0]?.slug ?? "");
}
