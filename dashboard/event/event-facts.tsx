import { Link } from "@tanstack/react-router";
import { ListFilter } from "lucide-react";
import type { ReactNode } from "react";
import type { Event } from "../../server/event/event.ts";
import { tagsInOrder } from "../../server/event/tag-order.ts";
import { suggestedColor } from "../channels/channel-colors.ts";
import { useFirstTags } from "../channels/first-tags.ts";
import { useChannelColors } from "../channels/use-channel-colors.ts";
import { ChannelMark } from "../components/channel-mark.tsx";
import { externalLink, isWebAddress } from "../feed/tag-chips.tsx";
import { UserLink } from "../users/user-link.tsx";

const linkClass = "hostile hover:text-accent hover:underline";

/** The event's fields and tags. Channel, user and tags link to the events that share them. */
export function EventFacts({ event, project }: { event: Event; project: string }) {
  const colors = useChannelColors(project);
  const tags = tagsInOrder(event.tags, useFirstTags(project)(event.channelId));
  return (
    <>
      <dl className="flex flex-col px-4 pb-3 md:px-5">
        <Fact name="Channel">
          <Link
            to="/p/$project/channels/$channel"
            params={{ project, channel: event.channelId }}
            search={{}}
            className={`${linkClass} inline-flex max-w-full items-center gap-1.5`}
          >
            <ChannelMark color={colors.get(event.channelId) ?? suggestedColor(event.channelId)} />
            {event.channelId}
          </Link>
        </Fact>
        {event.userId && (
          <Fact name="User">
            <UserLink project={project} userId={event.userId} className={linkClass}>
              {event.userId}
            </UserLink>
          </Fact>
        )}
        {event.event !== undefined && (
          <Fact name="Event">
            <span className="hostile">{event.event}</span>
          </Fact>
        )}
        <Fact name="Notify">{event.notify ? "Yes" : "No"}</Fact>
        {event.icon && /^[\w.-]+$/.test(event.icon) && (
          <Fact name="Icon">
            <span className="hostile font-mono text-xs">{event.icon}</span>
          </Fact>
        )}
        <Fact name="ID">
          <span className="hostile font-mono text-xs">{event.id}</span>
        </Fact>
      </dl>
      {tags.length > 0 && (
        <Section title="Tags">
          <table className="w-full table-fixed text-sm">
            <colgroup>
              <col className="w-27 md:w-[34%]" />
              <col />
            </colgroup>
            <thead className="sr-only">
              <tr>
                <th scope="col">Key</th>
                <th scope="col">Value</th>
              </tr>
            </thead>
            <tbody>
              {tags.map(([key, value]) => (
                <tr key={key} className="border-line border-b last:border-b-0">
                  <th scope="row" className="hostile py-1.5 pr-3 text-left align-top font-normal text-muted">
                    {key}
                  </th>
                  <td className="hostile whitespace-pre-wrap py-1.5">
                    <TagValue project={project} tag={key} value={value} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Section>
      )}
    </>
  );
}

/** Links to the events with the same tag; a URL opens. */
function TagValue({ project, tag, value }: { project: string; tag: string; value: string }) {
  const search = { [`tag.${tag}`]: value };
  if (!isWebAddress(value)) {
    return (
      <Link to="/p/$project" params={{ project }} search={search} className={linkClass}>
        {value || <span className="text-faint">empty</span>}
      </Link>
    );
  }
  return (
    <span className="flex items-start gap-2">
      <a
        href={value}
        {...externalLink}
        className="hostile flex-1 text-accent underline underline-offset-2 hover:no-underline"
      >
        {value}
      </a>
      <Link
        to="/p/$project"
        params={{ project }}
        search={search}
        aria-label={`Only events with ${tag} = ${value}`}
        title="Only events with this tag"
        className="-my-1 flex size-7 shrink-0 items-center justify-center rounded-md text-faint hover:bg-hover hover:text-ink max-md:size-10"
      >
        <ListFilter aria-hidden className="size-3.5" />
      </Link>
    </span>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex min-h-7 items-baseline py-1 text-sm">
      <dt className="w-27 shrink-0 pr-3 text-muted md:w-[34%]">{name}</dt>
      <dd className="min-w-0 flex-1">{children}</dd>
    </div>
  );
}

export function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section aria-label={title} className="border-line border-t px-4 py-4 md:px-5">
      <h2 className="mb-2.5 font-semibold text-sm">{title}</h2>
      {children}
    </section>
  );
}
