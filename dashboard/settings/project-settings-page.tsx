import { Link } from "@tanstack/react-router";
import { useMe } from "../account/me.ts";
import { PageHeader } from "../shell/page-header.tsx";
import { DeleteProject, ProjectSettings } from "./project-settings.tsx";

export function ProjectSettingsPage() {
  const { version } = useMe();
  return (
    <>
      <PageHeader title="Project settings" />
      <div className="min-h-0 flex-1 overflow-y-auto">
        <div className="mx-auto flex max-w-2xl flex-col gap-9 px-4 py-6 md:px-8 md:py-8">
          <p className="text-muted text-sm">
            For the whole project. Your own notifications, appearance and password are in{" "}
            <Link
              to="/account"
              className="text-ink underline decoration-line-strong underline-offset-2 hover:decoration-ink"
            >
              My settings
            </Link>
            .
          </p>
          <ProjectSettings />
          <DeleteProject />
          <p className="text-faint text-xs">Tidings {version}</p>
        </div>
      </div>
    </>
  );
}
