import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Event } from "../../server/wire/event.ts";
import { Section } from "./section.tsx";

const linkClass = "hostile hover:text-accent hover:underline";

/** What the event says about itself, one line for each; each leads to the events that say the same. */
export function EventFacts({ event, project }: { event: Event; project: string }) {
  const tags = Object.entries(event.tags);
  return (
    <>
      <dl className="flex flex-col px-4 pb-3 md:px-5">
        <Fact name="Channel">
          <Link
            to="/p/$project/channels/$channel"
            params={{ project, channel: event.channelId }}
            search={{}}
            className={linkClass}
          >
            {event.channelId}
          </Link>
        </Fact>
        {event.userId && (
          <Fact name="User">
            <Link
              to="/p/$project"
              params={{ project }}
              search={{ userId: event.userId }}
              className={linkClass}
            >
              {event.userId}
            </Link>
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
        <Fact name="Id">
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
                    <Link
                      to="/p/$project"
                      params={{ project }}
                      search={{ [`tag.${key}`]: value }}
                      className={linkClass}
                    >
                      {value || <span className="text-faint">empty</span>}
                    </Link>
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

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex min-h-7 items-baseline py-1 text-sm">
      <dt className="w-27 shrink-0 pr-3 text-muted md:w-[34%]">{name}</dt>
      <dd className="min-w-0 flex-1">{children}</dd>
    </div>
  );
}
