import { type PermissionName, roleMay } from "../../server/core/permissions.ts";
import { useMe } from "../account/me.ts";
import { useProjectSlug } from "./current-project.ts";

/** Whether the signed-in account has a permission in the current project. */
export function useCan(): (permission: PermissionName) => boolean {
  const slug = useProjectSlug();
  const role = useMe().projects.find((project) => project.slug === slug)?.role ?? "viewer";
  return (permission) => roleMay(role, permission);
}
