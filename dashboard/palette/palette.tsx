import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Command } from "cmdk";
import {
  Activity,
  BookOpen,
  CheckCheck,
  FileUp,
  Filter,
  Folder,
  Hash,
  LogOut,
  Moon,
  Plus,
  Sun,
  UserRound,
} from "lucide-react";
import { Dialog } from "radix-ui";
import { useDeferredValue, useState } from "react";
import { useMe } from "../account/me.ts";
import { useSignOut } from "../account/sign-out.ts";
import { markAllRead } from "../channels/channel-actions.ts";
import { sidebarQuery } from "../channels/channels.ts";
import { EventIcon } from "../components/event-icon.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { openDocs } from "../shell/docs.ts";
import { focusOpener } from "../shell/opener.ts";
import { openOverlay } from "../shell/overlays.tsx";
import { chooseTheme, useDark } from "../theme/theme.ts";
import { foundUsersQuery } from "../users/users.ts";
import { parametersOf } from "../views/views.ts";
import { PageItems } from "./page-items.tsx";
import { PaletteGroup, PaletteItem } from "./palette-item.tsx";

/** The command palette: go to any channel, page or project, or run a command. */
export default function Palette({ close }: { close: () => void }) {
  const project = useProjectSlug();
  const { data: sidebar } = useQuery(sidebarQuery(project));
  const { channels = [], views = [] } = sidebar ?? {};
  const [typed, setTyped] = useState("");
  const { data: users = [] } = useQuery(foundUsersQuery(project, useDeferredValue(typed.trim())));
  const { projects, ownsInstallation } = useMe();
  const can = useCan();
  const navigate = useNavigate();
  const signOut = useSignOut();
  const dark = useDark();
  const params = { project };

  const closeAnd = (action: () => unknown) => () => {
    close();
    action();
  };

  return (
    <Dialog.Root open onOpenChange={close}>
      <Dialog.Portal>
        <Dialog.Overlay className="fixed inset-0 z-40 animate-fade bg-overlay" />
        <Dialog.Content
          aria-describedby={undefined}
          onCloseAutoFocus={focusOpener}
          className="fixed inset-x-4 top-[12vh] z-50 mx-auto max-w-xl animate-rise overflow-hidden rounded-xl border border-line-strong bg-raised shadow-lg outline-none"
        >
          <Dialog.Title className="sr-only">Search and commands</Dialog.Title>
          <Command label="Search and commands" loop>
            <Command.Input
              value={typed}
              onValueChange={setTyped}
              placeholder="Type a channel, page, user or command…"
              className="h-12 w-full border-line border-b bg-transparent px-4 text-lg outline-none placeholder:text-faint"
            />
            <Command.List className="max-h-[min(420px,60vh)] overflow-y-auto p-1.5">
              <Command.Empty className="py-8 text-center text-muted text-sm">No results</Command.Empty>
              <PaletteGroup heading="Channels">
                {channels.map(({ id, name, icon }) => (
                  <PaletteItem
                    key={id}
                    value={`channel ${id}`}
                    icon={icon ? <EventIcon icon={icon} name={name} size="sm" bare /> : <Hash aria-hidden />}
                    onSelect={closeAnd(() =>
                      navigate({
                        to: "/p/$project/channels/$channel",
                        params: { project, channel: id },
                        search: {},
                      }),
                    )}
                  >
                    {name}
                  </PaletteItem>
                ))}
                {can("channels:change") && (
                  <PaletteItem icon={<Plus aria-hidden />} onSelect={() => openOverlay("new-channel")}>
                    New channel
                  </PaletteItem>
                )}
                <PaletteItem
                  icon={<CheckCheck aria-hidden />}
                  onSelect={closeAnd(() => sidebar && markAllRead(project, sidebar))}
                >
                  Mark all channels as read
                </PaletteItem>
              </PaletteGroup>
              <PaletteGroup heading="Users">
                {users.map(({ userId }) => (
                  <PaletteItem
                    key={userId}
                    // What was typed may be in a property.
                    value={`user ${userId} ${typed}`}
                    icon={<UserRound aria-hidden />}
                    onSelect={closeAnd(() =>
                      navigate({ to: "/p/$project/users/$userId", params: { project, userId } }),
                    )}
                  >
                    {userId}
                  </PaletteItem>
                ))}
              </PaletteGroup>
              {views.length > 0 && (
                <PaletteGroup heading="Views">
                  {views.map((view) => (
                    <PaletteItem
                      key={view.id}
                      value={`view ${view.name} ${view.id}`}
                      icon={<Filter aria-hidden />}
                      onSelect={closeAnd(() =>
                        navigate({ to: "/p/$project", params, search: parametersOf(view) }),
                      )}
                    >
                      {view.name}
                    </PaletteItem>
                  ))}
                </PaletteGroup>
              )}
              <PaletteGroup heading="Pages">
                <PageItems closeAnd={closeAnd} />
              </PaletteGroup>
              <PaletteGroup heading="Projects">
                {projects.length > 1 &&
                  projects.map(({ slug, name }) => (
                    <PaletteItem
                      key={slug}
                      value={`project ${name} ${slug}`}
                      icon={<Folder aria-hidden />}
                      onSelect={closeAnd(() =>
                        navigate({ to: "/p/$project", params: { project: slug }, search: {} }),
                      )}
                    >
                      {name}
                    </PaletteItem>
                  ))}
                <PaletteItem icon={<Plus aria-hidden />} onSelect={() => openOverlay("new-project")}>
                  New project
                </PaletteItem>
              </PaletteGroup>
              <PaletteGroup heading="Commands">
                {ownsInstallation && (
                  <PaletteItem
                    icon={<Activity aria-hidden />}
                    onSelect={closeAnd(() => navigate({ to: "/status" }))}
                  >
                    Server status
                  </PaletteItem>
                )}
                <PaletteItem
                  icon={dark ? <Sun aria-hidden /> : <Moon aria-hidden />}
                  onSelect={closeAnd(() => chooseTheme(dark ? "light" : "dark"))}
                >
                  {dark ? "Switch to light theme" : "Switch to dark theme"}
                </PaletteItem>
                {can("events:send") && (
                  <PaletteItem icon={<FileUp aria-hidden />} onSelect={() => openOverlay("import")}>
                    Import events
                  </PaletteItem>
                )}
                <PaletteItem
                  icon={<BookOpen aria-hidden />}
                  value="docs documentation help"
                  onSelect={closeAnd(openDocs)}
                >
                  Docs
                </PaletteItem>
                <PaletteItem icon={<LogOut aria-hidden />} onSelect={closeAnd(signOut)}>
                  Sign out
                </PaletteItem>
              </PaletteGroup>
            </Command.List>
          </Command>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
