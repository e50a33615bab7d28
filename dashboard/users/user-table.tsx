import { clsx } from "clsx";
import type { Event } from "../../server/event/event.ts";
import type { UserInList } from "../../server/wire/user.ts";
import { formatNumber } from "../components/locale.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { UserLink } from "./user-link.tsx";

type UserTableProps = {
  project: string;
  users: readonly UserInList[];
  /** Names of properties. */
  columns: readonly string[];
  faded: boolean;
  /** The event because of which each user is listed. */
  counted?: ReadonlyMap<string, Event>;
};

/** On narrow screens each user has two lines, because the columns don't fit. */
export function UserTable({ project, users, columns, faded, counted }: UserTableProps) {
  return (
    <table className={clsx("w-full text-sm max-md:block md:table-fixed", faded && "opacity-60")}>
      <thead className="text-left text-muted text-xs max-md:sr-only">
        <tr className="[&>th]:h-9 [&>th]:border-line [&>th]:border-b [&>th]:px-2.5 [&>th]:font-medium [&>th:first-child]:pl-5 [&>th:last-child]:pr-5">
          <th scope="col" className={counted ? "md:w-[20%]" : "md:w-[20%] xl:w-[30%]"}>
            User
          </th>
          {counted && (
            <th scope="col" className="md:w-[24%]">
              Counted by
            </th>
          )}
          {columns.map((name) => (
            <th key={name} scope="col" className="hostile-line">
              {name}
            </th>
          ))}
          <th scope="col" className="text-right md:w-20">
            Events
          </th>
          <th scope="col" className="text-right md:w-28 xl:w-32">
            First seen
          </th>
          <th scope="col" className="text-right md:w-28 xl:w-32">
            Last seen
          </th>
        </tr>
      </thead>
      <tbody className="max-md:block">
        {users.map((user) => (
          <tr
            key={user.userId}
            className={clsx(
              "relative border-line border-b hover:bg-hover",
              "max-md:grid max-md:grid-cols-[1fr_auto] max-md:gap-x-3 max-md:px-4 max-md:py-2.5",
              "md:h-10 md:[&>*]:px-2.5 md:[&>*:first-child]:pl-5 md:[&>*:last-child]:pr-5",
            )}
          >
            <th scope="row" className="min-w-0 text-left font-medium">
              <UserLink
                project={project}
                userId={user.userId}
                className="hostile-line block after:absolute after:inset-0 after:content-[''] focus-visible:outline-none focus-visible:after:outline-2 focus-visible:after:outline-accent focus-visible:after:-outline-offset-2"
              >
                {user.userId.trim() === "" ? <span className="text-faint">blank</span> : user.userId}
              </UserLink>
            </th>
            {counted && <CountedBy event={counted.get(user.userId)!} />}
            {columns.map((name) => (
              <td
                key={name}
                className="hostile-line text-muted max-md:col-start-1"
                title={valueText(user.properties[name])}
              >
                {valueText(user.properties[name])}
              </td>
            ))}
            <td className="text-right text-muted max-md:col-start-2 max-md:row-start-2 max-md:text-xs">
              {formatNumber(user.events)}
              <span className="md:hidden"> {user.events === 1 ? "event" : "events"}</span>
            </td>
            <td className="text-right text-muted max-md:hidden">{seen(user.firstSeenAt)}</td>
            <td className="text-right text-muted max-md:col-start-2 max-md:row-start-1">
              {seen(user.lastSeenAt)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** A user's event, and how long ago it was. */
function CountedBy({ event }: { event: Event }) {
  return (
    <td className="hostile-line text-muted max-md:col-start-1">
      {event.name} <RelativeTime at={event.createdAt} className="relative text-faint text-xs" />
    </td>
  );
}

function seen(at: string | null) {
  return at === null ? "–" : <RelativeTime at={at} className="relative whitespace-nowrap" />;
}

/** A property's value as a text; empty if the user doesn't have it. */
export function valueText(value: string | number | boolean | null | undefined): string {
  return value === undefined || value === null ? "" : String(value);
}
