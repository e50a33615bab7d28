import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import {
  Activity,
  Bell,
  BellOff,
  BellRing,
  Building2,
  Cable,
  CircleUser,
  Filter,
  Folder,
  Gauge,
  Hash,
  HeartPulse,
  LayoutDashboard,
  ListChecks,
  Mail,
  Milestone,
  Newspaper,
  PhoneCall,
  ScrollText,
  Settings2,
  UserRound,
  Users,
  UsersRound,
} from "lucide-react";
import type { ReactNode } from "react";
import { groupsTitle } from "../../server/schemas/group-texts.ts";
import { useMe } from "../account/me.ts";
import { boardsQuery } from "../boards/boards.ts";
import { orderChannels, useChannelOrder } from "../channels/channel-order.ts";
import { sidebarQuery } from "../channels/channels.ts";
import { EventIcon } from "../components/event-icon.tsx";
import { connectionIcons } from "../connections/connection-icons.ts";
import {
  type ConnectionPage,
  connectionPages,
  connectionTitles,
  useConnectionStates,
} from "../connections/connections.ts";
import { shownTypes } from "../groups/group-text.ts";
import { groupTypesQuery } from "../groups/groups.ts";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { parametersOf } from "../views/views.ts";
import type { Group, Item } from "./items.ts";

const connectionAliases: Record<ConnectionPage, string> = {
  keys: "secret token publishable",
  webhooks: "stripe github integrations",
  rejected: "invalid errors resend",
  destinations: "slack discord telegram webhook integrations",
  deliveries: "sent failed",
};

/** The places to go to: channels, views, boards, pages and projects that the person may see. */
export function usePlaceItems(): Item[] {
  const project = useProjectSlug();
  const { projects } = useMe();
  const navigate = useNavigate();
  const own = useItemsOfProject(project);
  const general = usePages();
  return [
    ...(project === "" ? [] : own),
    ...general,
    ...(projects.length > 1 ? projects : []).map(
      ({ slug, name }): Item => ({
        id: `project ${slug}`,
        group: "Projects",
        label: name,
        aliases: `project ${slug}`,
        icon: <Folder aria-hidden />,
        run: () => navigate({ to: "/p/$project", params: { project: slug }, search: {} }),
      }),
    ),
  ];
}

function useItemsOfProject(project: string): Item[] {
  const navigate = useNavigate();
  const can = useCan();
  const { data: sidebar } = useQuery(sidebarQuery(project));
  const { data: boards = [] } = useQuery({ ...boardsQuery(project), enabled: project !== "" });
  const { data: groupTypes } = useQuery({ ...groupTypesQuery(project), enabled: project !== "" });
  const states = useConnectionStates(project);
  const views = sidebar?.views ?? [];
  const { pinned, others } = orderChannels(sidebar?.channels ?? [], useChannelOrder(), "");
  const archived = (sidebar?.channels ?? []).filter(({ archivedAt }) => archivedAt !== null);
  const params = { project };

  return [
    ...[...pinned, ...others, ...archived].map(
      ({ id, name, icon, archivedAt, events }): Item => ({
        id: `channel ${id}`,
        group: "Channels",
        label: name,
        detail: archivedAt === null ? undefined : "archived",
        aliases: "channel",
        events,
        icon: icon ? <EventIcon icon={icon} name={name} size="sm" bare /> : <Hash aria-hidden />,
        run: () =>
          navigate({
            to: "/p/$project/channels/$channel",
            params: { project, channel: id },
            search: {},
          }),
      }),
    ),
    ...views.map(
      (view): Item => ({
        id: `view ${view.id}`,
        group: "Views",
        label: view.name,
        aliases: "view",
        icon: <Filter aria-hidden />,
        run: () => navigate({ to: "/p/$project", params, search: parametersOf(view) }),
      }),
    ),
    ...boards.map(
      ({ id, name }): Item => ({
        id: `board ${id}`,
        group: "Boards",
        label: `Board ${name}`,
        icon: <LayoutDashboard aria-hidden />,
        run: () => navigate({ to: "/p/$project/boards/$board", params: { project, board: id } }),
      }),
    ),
    page("All events", "feed", <Newspaper aria-hidden />, () =>
      navigate({ to: "/p/$project", params, search: {} }),
    ),
    page("Users", "people customers", <UserRound aria-hidden />, () =>
      navigate({ to: "/p/$project/users", params, search: {} }),
    ),
    page("Cohorts", "segments groups people customers", <UsersRound aria-hidden />, () =>
      navigate({ to: "/p/$project/cohorts", params }),
    ),
    ...shownTypes(groupTypes).map(({ type }) =>
      page(
        groupsTitle(type),
        `groups organizations accounts customers ${type}`,
        <Building2 aria-hidden />,
        () => navigate({ to: "/p/$project/groups/$type", params: { project, type }, search: {} }),
      ),
    ),
    page("Insights", "values numbers", <Gauge aria-hidden />, () =>
      navigate({ to: "/p/$project/insights", params }),
    ),
    page("Annotations", "marks deployments releases notes charts", <Milestone aria-hidden />, () =>
      navigate({ to: "/p/$project/annotations", params }),
    ),
    page("Members", "team people roles invitations", <Users aria-hidden />, () =>
      navigate({ to: "/p/$project/members", params }),
    ),
    page("Rules", "alerts notify", <ListChecks aria-hidden />, () =>
      navigate({ to: "/p/$project/rules", params }),
    ),
    page("Alerts", "open firing incidents", <BellRing aria-hidden />, () =>
      navigate({ to: "/p/$project/alerts", params, search: {} }),
    ),
    page("Heartbeats", "cron jobs monitoring backups pings down", <HeartPulse aria-hidden />, () =>
      navigate({ to: "/p/$project/heartbeats", params }),
    ),
    page("Silences", "maintenance window mute downtime deployment", <BellOff aria-hidden />, () =>
      navigate({ to: "/p/$project/silences", params }),
    ),
    page("On call", "schedules shifts rotations pager", <PhoneCall aria-hidden />, () =>
      navigate({ to: "/p/$project/on-call", params }),
    ),
    page("Reports", "email schedule digest boards send", <Mail aria-hidden />, () =>
      navigate({ to: "/p/$project/reports", params }),
    ),
    page("Connections", "integrations", <Cable aria-hidden />, () =>
      navigate({ to: "/p/$project/connections", params }),
    ),
    ...connectionPages
      .filter((connection) => connection !== "keys" || can("keys:manage"))
      .map((connection) => {
        const Icon = connectionIcons[connection];
        return {
          ...page(connectionTitles[connection], connectionAliases[connection], <Icon aria-hidden />, () =>
            navigate({ to: `/p/$project/${connection}`, params, search: {} }),
          ),
          detail: states[connection]?.text,
        };
      }),
    ...(can("audit:read")
      ? [
          page("Audit log", "history who", <ScrollText aria-hidden />, () =>
            navigate({ to: "/p/$project/audit", params }),
          ),
        ]
      : []),
    page("Project settings", "name retention quota delete", <Settings2 aria-hidden />, () =>
      navigate({ to: "/p/$project/settings", params }),
    ),
  ];
}

/** Pages that belong to no project. */
function usePages(): Item[] {
  const navigate = useNavigate();
  const { ownsInstallation } = useMe();
  return [
    page("Notifications", "bell inbox", <Bell aria-hidden />, () => navigate({ to: "/notifications" })),
    page(
      "My settings",
      "account profile name email password passkeys two-factor authentication sessions devices appearance delete",
      <CircleUser aria-hidden />,
      () => navigate({ to: "/account" }),
    ),
    page(
      "Notification settings",
      "quiet hours email digest push browser mutes time zone",
      <Bell aria-hidden />,
      () => navigate({ to: "/account/notifications" }),
    ),
    ...(ownsInstallation
      ? [
          page("Server status", "health disk version", <Activity aria-hidden />, () =>
            navigate({ to: "/status" }),
          ),
        ]
      : []),
  ];
}

function page(label: string, aliases: string, icon: ReactNode, run: () => unknown): Item {
  const group: Group = "Pages";
  return { id: `page ${label}`, group, label, aliases, icon, run };
}
