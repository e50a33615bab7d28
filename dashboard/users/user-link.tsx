import type { ComponentProps } from "react";
import { RowLink } from "../components/row-link.tsx";

type UserLinkProps = Omit<ComponentProps<"a">, "href"> & { project: string; userId: string };

/** Links to a user's page. URLs can't have the ids "." and "..", so these link to the user's events. */
export function UserLink({ project, userId, ...rest }: UserLinkProps) {
  if (/^\.\.?$/.test(userId))
    return <RowLink to="/p/$project" params={{ project }} search={{ userId }} {...rest} />;
  return <RowLink to="/p/$project/users/$userId" params={{ project, userId }} {...rest} />;
}
