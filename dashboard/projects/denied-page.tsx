import { Lock } from "lucide-react";
import { permissionTexts } from "../../server/core/permission-texts.ts";
import { type PermissionName, type Role, roleMay, roles } from "../../server/core/permissions.ts";
import { EmptyState } from "../components/ui/states.tsx";
import { PageHeader } from "../shell/page-header.tsx";

/** Instead of a page that the member's role doesn't allow. */
export function DeniedPage({ title, permission }: { title: string; permission: PermissionName }) {
  const [first, ...rest] = permissionTexts[permission];
  const names = roles.filter((role) => roleMay(role, permission)).map((role: Role) => `${role}s`);
  return (
    <>
      <PageHeader title={title} />
      <EmptyState icon={<Lock aria-hidden />} title="Not allowed with your role">
        Only {new Intl.ListFormat("en").format(names)} can {first!.toLowerCase() + rest.join("")}. Ask one of
        them.
      </EmptyState>
    </>
  );
}
