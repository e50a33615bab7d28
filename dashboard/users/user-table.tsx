import { clsx } from "clsx";
import type { Event } from "../../server/event/event.ts";
import type { UserInList } from "../../server/schemas/user.ts";
import { formatNumber } from "../components/locale.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { LineName, LineRow, LineTable, lineLink } from "../components/ui/line-table.tsx";
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

/**
 * The table of users. If the columns don't fit, the last properties disappear first, then the column "First seen". On
 * the narrowest screens, each user has a line for each property.
 */
export function UserTable({ project, users, columns, faded, counted }: UserTableProps) {
  return (
    <LineTable
      faded={faded}
      head={
        <>
          <th scope="col" className={counted ? "@xl:w-[20%]" : "@xl:w-[24%] @6xl:w-[30%]"}>
            User
          </th>
          {counted && (
            <th scope="col" className="@xl:w-[24%]">
              Counted by
            </th>
          )}
          {columns.map((name, index) => (
            <th key={name} scope="col" className={clsx("hostile-line", propertyClass(index))}>
              {name}
            </th>
          ))}
          <th scope="col" className="@xl:w-20 text-right">
            Events
          </th>
          <th scope="col" className="@xl:w-28 @6xl:w-32 text-right @max-4xl:hidden">
            First seen
          </th>
          <th scope="col" className="@xl:w-28 @6xl:w-32 text-right">
            Last seen
          </th>
        </>
      }
    >
      {users.map((user) => (
        <LineRow key={user.userId}>
          <LineName>
            <UserLink project={project} userId={user.userId} className={lineLink}>
              {user.userId.trim() === "" ? <span className="text-faint">blank</span> : user.userId}
              {user.ids.length > 1 && (
                <span className="ml-2 font-normal text-faint text-xs" title={user.ids.join("\n")}>
                  {user.ids.length} IDs
                </span>
              )}
            </UserLink>
          </LineName>
          {counted && <CountedBy event={counted.get(user.userId)!} />}
          {columns.map((name, index) => (
            <td
              key={name}
              className={clsx("hostile-line @max-xl:col-start-1 text-muted", propertyClass(index))}
              title={valueText(user.properties[name])}
            >
              {valueText(user.properties[name])}
            </td>
          ))}
          <td className="@max-xl:col-start-2 @max-xl:row-start-2 text-right text-muted @max-xl:text-xs">
            {formatNumber(user.events)}
            <span className="@xl:hidden"> {user.events === 1 ? "event" : "events"}</span>
          </td>
          <td className="text-right text-muted @max-4xl:hidden">{seen(user.firstSeenAt)}</td>
          <td className="@max-xl:col-start-2 @max-xl:row-start-1 text-right text-muted">
            {seen(user.lastSeenAt)}
          </td>
        </LineRow>
      ))}
    </LineTable>
  );
}

/** Classes that hide a property's column, by its place, if the table is too narrow. */
const propertyClasses = ["", "", "@xl:@max-4xl:hidden", "@xl:@max-5xl:hidden", "@xl:@max-6xl:hidden"];

function propertyClass(index: number): string {
  return propertyClasses[index] ?? "@xl:@max-7xl:hidden";
}

/** A user's event, and how long ago it was. */
function CountedBy({ event }: { event: Event }) {
  return (
    <td className="hostile-line text-muted @max-xl:col-start-1">
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
