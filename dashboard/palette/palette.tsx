import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Command } from "cmdk";
import {
  Activity,
  Bell,
  BookOpen,
  CheckCheck,
  CircleSlash,
  FileUp,
  Filter,
  Folder,
  Gauge,
  Hash,
  KeyRound,
  LayoutDashboard,
  ListChecks,
  LogOut,
  Moon,
  Newspaper,
  PackageCheck,
  Plus,
  ScrollText,
  Send,
  Settings2,
  Sun,
  UserRound,
  Users,
  Webhook,
} from "lucide-react";
import { Dialog } from "radix-ui";
import { type ReactNode, useDeferredValue, useState } from "react";
import { useMe } from "../account/me.ts";
import { useSignOut } from "../account/sign-out.ts";
import { boardsQuery } from "../boards/boards.ts";
import { markAllRead } from "../channels/channel-actions.ts";
import { sidebarQuery } from "../channels/channels.ts";
import { EventIcon } from "../components/event-icon.tsx";
import { deadCountQuery } from "../deliveries/deliveries.ts";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { useRejectedCount } from "../rejected/rejected-count.ts";
import { openDocs } from "../shell/docs.ts";
import { focusOpener } from "../shell/opener.ts";
import { openOverlay } from "../shell/overlays.tsx";
import { chooseTheme, useDark } from "../theme/theme.ts";
import { foundUsersQuery } from "../users/users.ts";
import { parametersOf } from "../views/views.ts";

/** The command palette: go to any channel, page or project, or run a command. */
export default function Palette({ close }: { close: () => void }) {
  const project = useProjectSlug();
  const { data: sidebar } = useQuery(sidebarQuery(project));
  const { channels = [], views = [] } = sidebar ?? {};
  const [typed, setTyped] = useState("");
  const { data: users = [] } = useQuery(foundUsersQuery(project, useDeferredValue(typed.trim())));
  const { data: dead = 0 } = useQuery(deadCountQuery(project));
  const rejected = useRejectedCount(project);
  const { projects, ownsInstallation } = useMe();
  const { data: boards = [] } = useQuery(boardsQuery(project));
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
              <Group heading="Channels">
                {channels.map(({ id, name, icon }) => (
                  <Item
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
                  </Item>
                ))}
                {can("channels:change") && (
                  <Item icon={<Plus aria-hidden />} onSelect={() => openOverlay("new-channel")}>
                    New channel
                  </Item>
                )}
                <Item
                  icon={<CheckCheck aria-hidden />}
                  onSelect={closeAnd(() => sidebar && markAllRead(project, sidebar))}
                >
                  Mark all channels as read
                </Item>
              </Group>
              <Group heading="Users">
                {users.map(({ userId }) => (
                  <Item
                    key={userId}
                    // What was typed may be in a property.
                    value={`user ${userId} ${typed}`}
                    icon={<UserRound aria-hidden />}
                    onSelect={closeAnd(() =>
                      navigate({ to: "/p/$project/users/$userId", params: { project, userId } }),
                    )}
                  >
                    {userId}
                  </Item>
                ))}
              </Group>
              {views.length > 0 && (
                <Group heading="Views">
                  {views.map((view) => (
                    <Item
                      key={view.id}
                      value={`view ${view.name} ${view.id}`}
                      icon={<Filter aria-hidden />}
                      onSelect={closeAnd(() =>
                        navigate({ to: "/p/$project", params, search: parametersOf(view) }),
                      )}
                    >
                      {view.name}
                    </Item>
                  ))}
                </Group>
              )}
              <Group heading="Pages">
                <Item
                  icon={<Newspaper aria-hidden />}
                  onSelect={closeAnd(() => navigate({ to: "/p/$project", params, search: {} }))}
                >
                  All events
                </Item>
                {boards.map(({ id, name }) => (
                  <Item
                    key={id}
                    value={`board ${id} ${name}`}
                    icon={<LayoutDashboard aria-hidden />}
                    onSelect={closeAnd(() =>
                      navigate({ to: "/p/$project/boards/$board", params: { project, board: id } }),
                    )}
                  >
                    Board {name}
                  </Item>
                ))}
                <Item
                  icon={<Bell aria-hidden />}
                  onSelect={closeAnd(() => navigate({ to: "/notifications" }))}
                >
                  Notifications
                </Item>
                <Item
                  icon={<UserRound aria-hidden />}
                  onSelect={closeAnd(() => navigate({ to: "/p/$project/users", params, search: {} }))}
                >
                  Users
                </Item>
                <Item
                  icon={<Gauge aria-hidden />}
                  onSelect={closeAnd(() => navigate({ to: "/p/$project/values", params }))}
                >
                  Values
                </Item>
                {can("keys:manage") && (
                  <Item
                    icon={<KeyRound aria-hidden />}
                    onSelect={closeAnd(() => navigate({ to: "/p/$project/keys", params }))}
                  >
                    API keys
                  </Item>
                )}
                <Item
                  icon={<Users aria-hidden />}
                  onSelect={closeAnd(() => navigate({ to: "/p/$project/members", params }))}
                >
                  Members
                </Item>
                <Item
                  icon={<ListChecks aria-hidden />}
                  onSelect={closeAnd(() => navigate({ to: "/p/$project/rules", params }))}
                >
                  Rules
                </Item>
                <Item
                  icon={<Send aria-hidden />}
                  onSelect={closeAnd(() => navigate({ to: "/p/$project/destinations", params }))}
                >
                  Destinations
                </Item>
                <Item
                  value="Deliveries"
                  icon={<PackageCheck aria-hidden />}
                  onSelect={closeAnd(() => navigate({ to: "/p/$project/deliveries", params, search: {} }))}
                >
                  {dead > 0 ? `Deliveries (${dead.toLocaleString("en")} failed)` : "Deliveries"}
                </Item>
                <Item
                  icon={<Webhook aria-hidden />}
                  onSelect={closeAnd(() => navigate({ to: "/p/$project/webhooks", params }))}
                >
                  Webhooks
                </Item>
                <Item
                  value="Rejected events"
                  icon={<CircleSlash aria-hidden />}
                  onSelect={closeAnd(() => navigate({ to: "/p/$project/rejected", params }))}
                >
                  {rejected > 0 ? `Rejected events (${rejected.toLocaleString("en")})` : "Rejected events"}
                </Item>
                {can("audit:read") && (
                  <Item
                    icon={<ScrollText aria-hidden />}
                    onSelect={closeAnd(() => navigate({ to: "/p/$project/audit", params }))}
                  >
                    Audit log
                  </Item>
                )}
                <Item
                  icon={<Settings2 aria-hidden />}
                  onSelect={closeAnd(() => navigate({ to: "/p/$project/settings", params }))}
                >
                  Settings
                </Item>
              </Group>
              <Group heading="Projects">
                {projects.length > 1 &&
                  projects.map(({ slug, name }) => (
                    <Item
                      key={slug}
                      value={`project ${name} ${slug}`}
                      icon={<Folder aria-hidden />}
                      onSelect={closeAnd(() =>
                        navigate({ to: "/p/$project", params: { project: slug }, search: {} }),
                      )}
                    >
                      {name}
                    </Item>
                  ))}
                <Item icon={<Plus aria-hidden />} onSelect={() => openOverlay("new-project")}>
                  New project
                </Item>
              </Group>
              <Group heading="Commands">
                {ownsInstallation && (
                  <Item
                    icon={<Activity aria-hidden />}
                    onSelect={closeAnd(() => navigate({ to: "/status" }))}
                  >
                    Server status
                  </Item>
                )}
                <Item
                  icon={dark ? <Sun aria-hidden /> : <Moon aria-hidden />}
                  onSelect={closeAnd(() => chooseTheme(dark ? "light" : "dark"))}
                >
                  {dark ? "Switch to light theme" : "Switch to dark theme"}
                </Item>
                {can("events:send") && (
                  <Item icon={<FileUp aria-hidden />} onSelect={() => openOverlay("import")}>
                    Import events
                  </Item>
                )}
                <Item
                  icon={<BookOpen aria-hidden />}
                  value="docs documentation help"
                  onSelect={closeAnd(openDocs)}
                >
                  Docs
                </Item>
                <Item icon={<LogOut aria-hidden />} onSelect={closeAnd(signOut)}>
                  Sign out
                </Item>
              </Group>
            </Command.List>
          </Command>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

function Group({ heading, children }: { heading: string; children: ReactNode }) {
  return (
    <Command.Group
      heading={heading}
      className="[&_[cmdk-group-heading]]:px-2.5 [&_[cmdk-group-heading]]:pt-2 [&_[cmdk-group-heading]]:pb-1 [&_[cmdk-group-heading]]:font-medium [&_[cmdk-group-heading]]:text-faint [&_[cmdk-group-heading]]:text-xs"
    >
      {children}
    </Command.Group>
  );
}

type ItemProps = { icon: ReactNode; value?: string; onSelect: () => void; children: ReactNode };

function Item({ icon, value, onSelect, children }: ItemProps) {
  return (
    <Command.Item
      {...(value !== undefined && { value })}
      onSelect={onSelect}
      className="flex h-9 cursor-pointer items-center gap-2.5 rounded-md px-2.5 text-base data-[selected=true]:bg-pressed max-md:h-11 [&_svg]:size-4 [&_svg]:text-faint"
    >
      <span className="flex size-5 shrink-0 items-center justify-center">{icon}</span>
      <span className="hostile-line">{children}</span>
    </Command.Item>
  );
}
