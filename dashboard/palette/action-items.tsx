import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import {
  BellOff,
  BellRing,
  BookOpen,
  CheckCheck,
  FileUp,
  Keyboard,
  LogOut,
  Moon,
  Plus,
  Sun,
  UserPlus,
} from "lucide-react";
import type { ReactNode } from "react";
import { useSignOut } from "../account/sign-out.ts";
import { markAllRead } from "../channels/channel-actions.ts";
import { sidebarQuery } from "../channels/channels.ts";
import {
  describeUntil,
  muteDurations,
  preferencesQuery,
  useMute,
  useUnmute,
} from "../notifications/preferences.ts";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { openDocs } from "../shell/docs.ts";
import { openOverlay } from "../shell/overlays.tsx";
import { chooseTheme, useDark } from "../theme/theme.ts";
import type { DialogName } from "./dialogs.ts";
import type { Item } from "./items.ts";

/** The choices after "Mute": the channel, then for how long. */
export type MuteStep = { channel: string | null };

type Props = {
  /** Opens a dialog in place of the palette. */
  open: (dialog: DialogName) => void;
  /** Leads to the items of `useMuteItems`. */
  mute: (step: MuteStep) => void;
};

/** Actions that are possible anywhere. */
export function useActionItems({ open, mute }: Props): Item[] {
  const project = useProjectSlug();
  const own = useProjectActions({ open, mute });
  const signOut = useSignOut();
  const dark = useDark();
  return [
    ...(project === "" ? [] : own),
    {
      ...action("New project", "create add", <Plus aria-hidden />, () => openOverlay("new-project")),
      stays: true,
    },
    action(
      dark ? "Switch to light theme" : "Switch to dark theme",
      "appearance color mode",
      dark ? <Sun aria-hidden /> : <Moon aria-hidden />,
      () => chooseTheme(dark ? "light" : "dark"),
    ),
    {
      ...action("Keyboard shortcuts", "keys help", <Keyboard aria-hidden />, () => openOverlay("help")),
      stays: true,
    },
    action("Docs", "documentation help", <BookOpen aria-hidden />, openDocs),
    action("Sign out", "log out logout", <LogOut aria-hidden />, signOut),
  ];
}

function useProjectActions({ open, mute }: Props): Item[] {
  const project = useProjectSlug();
  const navigate = useNavigate();
  const can = useCan();
  const { data: sidebar } = useQuery(sidebarQuery(project));
  const { data: preferences } = useQuery(preferencesQuery);
  const unmute = useUnmute();
  const params = { project };
  const mutes = preferences?.mutes.filter((each) => each.project === project && each.name === null) ?? [];

  return [
    ...(can("channels:change")
      ? [
          {
            ...action("New channel", "create add", <Plus aria-hidden />, () => openOverlay("new-channel")),
            stays: true,
          },
        ]
      : []),
    action(
      "Mark all channels as read",
      "unread seen",
      <CheckCheck aria-hidden />,
      () => sidebar && markAllRead(project, sidebar),
    ),
    {
      ...action("Mute a channel…", "silence notifications snooze", <BellOff aria-hidden />, () =>
        mute({ channel: null }),
      ),
      stays: true,
    },
    ...mutes.map(
      (each): Item => ({
        ...action(`Unmute ${each.channel}`, "notifications", <BellRing aria-hidden />, () =>
          unmute.mutate(each.id),
        ),
        id: `unmute ${each.channel}`,
        detail: describeUntil(each),
      }),
    ),
    ...(can("boards:change") ? [dialog("New board", "create add dashboard chart", "new-board")] : []),
    ...(can("rules:manage")
      ? [
          dialog("New rule", "create add alert notify monitor metric threshold", "new-rule", () =>
            navigate({ to: "/p/$project/rules", params }),
          ),
          dialog("New destination", "create add slack discord telegram", "new-destination", () =>
            navigate({ to: "/p/$project/destinations", params }),
          ),
        ]
      : []),
    ...(can("heartbeats:manage")
      ? [
          dialog("New heartbeat", "create add cron job monitor", "new-heartbeat", () =>
            navigate({ to: "/p/$project/heartbeats", params }),
          ),
        ]
      : []),
    ...(can("annotations:change")
      ? [
          dialog("New annotation", "create add mark note deployment chart", "new-annotation", () =>
            navigate({ to: "/p/$project/annotations", params }),
          ),
        ]
      : []),
    ...(can("silences:change")
      ? [
          dialog("New silence", "plan maintenance window mute deployment", "new-silence", () =>
            navigate({ to: "/p/$project/silences", params }),
          ),
        ]
      : []),
    ...(can("on-call:manage")
      ? [
          dialog("New on-call schedule", "create add rotation shifts", "new-on-call-schedule", () =>
            navigate({ to: "/p/$project/on-call", params }),
          ),
        ]
      : []),
    dialog("New report", "create add email board schedule", "new-report", () =>
      navigate({ to: "/p/$project/reports", params }),
    ),
    ...(can("webhooks:manage")
      ? [
          dialog("New webhook", "create add stripe github", "new-webhook", () =>
            navigate({ to: "/p/$project/webhooks", params }),
          ),
        ]
      : []),
    ...(can("keys:manage")
      ? [
          dialog("New API key", "create add secret token", "new-key", () =>
            navigate({ to: "/p/$project/keys", params }),
          ),
        ]
      : []),
    ...(can("members:manage")
      ? [
          {
            ...dialog("Invite a member", "add people team colleague", "invite", () =>
              navigate({ to: "/p/$project/members", params }),
            ),
            icon: <UserPlus aria-hidden />,
          },
        ]
      : []),
    ...(can("events:send")
      ? [
          {
            ...action("Import events", "upload file csv json", <FileUp aria-hidden />, () =>
              openOverlay("import"),
            ),
            stays: true,
          },
        ]
      : []),
  ];

  /** Opens a dialog, over the page that shows its result. */
  function dialog(label: string, aliases: string, name: DialogName, goTo?: () => unknown): Item {
    const run = () => {
      goTo?.();
      open(name);
    };
    return { ...action(label, aliases, <Plus aria-hidden />, run), stays: true };
  }
}

/** The channels that can be muted, or for how long. */
export function useMuteItems({ channel }: MuteStep, choose: (step: MuteStep) => void): Item[] {
  const project = useProjectSlug();
  const { data: sidebar } = useQuery(sidebarQuery(project));
  const mute = useMute();
  if (channel === null) {
    return (sidebar?.channels ?? []).map(
      ({ id }): Item => ({
        id: `mute ${id}`,
        group: "Channels",
        label: id,
        icon: <BellOff aria-hidden />,
        run: () => choose({ channel: id }),
        stays: true,
      }),
    );
  }
  return muteDurations.map(({ label, minutes }): Item => {
    const run = () => mute.mutate({ project, channel, name: null, minutes: minutes() });
    return action(label, "", <BellOff aria-hidden />, run);
  });
}

function action(label: string, aliases: string, icon: ReactNode, run: () => unknown): Item {
  return { id: `action ${label}`, group: "Actions", label, aliases, icon, run };
}
