import { BellOff, MailX } from "lucide-react";
import type { ReactNode } from "react";
import type { Preferences } from "../../server/schemas/preferences.ts";
import { useMe } from "../account/me.ts";
import { formatDate } from "../components/dates.ts";
import { Button } from "../components/ui/button.tsx";
import { describeUntil, nameOf, useResubscribe, useUnmute } from "../notifications/preferences.ts";
import { Panel } from "./group.tsx";

/** The mutes in all projects, and the projects that send no email. */
export function MuteList({ mutes, unsubscribed }: Pick<Preferences, "mutes" | "unsubscribed">) {
  const { projects } = useMe();
  const unmute = useUnmute();
  const resubscribe = useResubscribe();
  if (mutes.length === 0 && unsubscribed.length === 0) return null;
  const projectName = (slug: string) => projects.find((each) => each.slug === slug)?.name ?? slug;
  const inProject = (slug: string) => (projects.length > 1 ? `${projectName(slug)} · ` : "");
  return (
    <div className="mt-2 flex flex-col gap-2">
      <h3 className="font-medium text-muted text-sm">Muted</h3>
      <Panel>
        {mutes.map((mute) => (
          <Item
            key={mute.id}
            icon={<BellOff aria-hidden />}
            title={nameOf(mute)}
            detail={inProject(mute.project) + describeUntil(mute)}
          >
            <Button
              aria-label={`Unmute ${nameOf(mute)}`}
              disabled={unmute.isPending}
              onClick={() => unmute.mutate(mute.id)}
            >
              Unmute
            </Button>
          </Item>
        ))}
        {unsubscribed.map(({ project, at }) => (
          <Item
            key={project}
            icon={<MailX aria-hidden />}
            title={`Email from ${projectName(project)}`}
            detail={`You unsubscribed on ${formatDate(at, "long")}`}
          >
            <Button
              aria-label={`Resume email from ${projectName(project)}`}
              disabled={resubscribe.isPending}
              onClick={() => resubscribe.mutate(project)}
            >
              Resume
            </Button>
          </Item>
        ))}
      </Panel>
    </div>
  );
}

type ItemProps = { icon: ReactNode; title: string; detail: string; children: ReactNode };

function Item({ icon, title, detail, children }: ItemProps) {
  return (
    <div className="flex min-h-14 items-center gap-3 px-4 py-2.5 [&>svg]:size-4 [&>svg]:shrink-0 [&>svg]:text-faint">
      {icon}
      <div className="min-w-0 flex-1">
        <p className="hostile font-medium">{title}</p>
        <p className="hostile text-muted text-xs">{detail}</p>
      </div>
      {children}
    </div>
  );
}
