import type { ComponentType } from "react";
import type { PermissionName } from "../../server/core/permissions.ts";
import { lazyPart } from "../components/lazy-part.tsx";
import { useCan } from "./can.ts";

const DeniedPage = lazyPart<{ title: string; permission: PermissionName }>(
  async () => (await import("./denied-page.tsx")).DeniedPage,
);

/** A page for members with a permission. Others see who has it. */
export function permitted(
  permission: PermissionName,
  title: string,
  Page: ComponentType & { preload: () => Promise<void> },
) {
  function Permitted() {
    return useCan()(permission) ? <Page /> : <DeniedPage title={title} permission={permission} />;
  }
  Permitted.preload = Page.preload;
  return Permitted;
}
