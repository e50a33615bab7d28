import { Link } from "@tanstack/react-router";
import { UserRound } from "lucide-react";
import { useMe } from "../account/me.ts";
import { buttonClass } from "../components/ui/button.tsx";
import { PageHeader } from "../shell/page-header.tsx";
import { Group, Panel } from "./group.tsx";
import { NotificationSettings } from "./notification-settings.tsx";
import { DeleteProject, ProjectSettings } from "./project-settings.tsx";
import { ThemeSettings } from "./theme-settings.tsx";

export function SettingsPage() {
  const { account, version } = useMe();
  return (
    <>
      <PageHeader title="Settings" />
      <div className="min-h-0 flex-1 overflow-y-auto">
        <div className="mx-auto flex max-w-2xl flex-col gap-9 px-4 py-6 md:px-8 md:py-8">
          <ProjectSettings />
          <NotificationSettings />
          <Group title="Appearance" lead="In this browser">
            <ThemeSettings />
          </Group>
          <Group title="Account">
            <Panel>
              <div className="flex min-h-16 items-center justify-between gap-4 px-4 py-3">
                <div className="min-w-0">
                  <p className="hostile font-medium">{account.name || account.email}</p>
                  <p className="hostile text-muted text-sm">{account.email}</p>
                </div>
                <Link to="/account" className={buttonClass()}>
                  <UserRound aria-hidden className="size-4" />
                  Manage account
                </Link>
              </div>
            </Panel>
          </Group>
          <DeleteProject />
          <p className="text-faint text-xs">Tidings {version}</p>
        </div>
      </div>
    </>
  );
}
