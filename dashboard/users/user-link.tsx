import { Link } from "@tanstack/react-router";
import type { ComponentProps } from "react";

type UserLinkProps = Omit<ComponentProps<"a">, "href" | "target"> & { project: string; userId: string };

/** Links to a user's page. URLs can't have the ids "." and "..", so these link to the user's events. */
export function UserLink({ project, userId, ...rest }: UserLinkProps) {
  const shared = { ...rest, preload: false as const };
  if (/^\.\.?$/.test(userId))
    return <Link to="/p/$project" params={{ project }} search={{ userId }} {...shared} />;
  return <Link to="/p/$project/users/$userId" params={{ project, userId }} {...shared} />;
}
