import { Split } from "lucide-react";
import { useState } from "react";
import type { IdOfUser, JoinedBy, User } from "../../server/schemas/user.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { RowMenu } from "../components/ui/row-menu.tsx";
import { useCan } from "../projects/can.ts";
import { SplitDialog } from "./split-dialog.tsx";

/** How an ID was joined, before the time. */
const joinedTexts: Record<JoinedBy, string> = {
  identify: "Joined by identify",
  alias: "Joined by alias",
  event: "Joined by an event with both IDs",
  merge: "Merged",
  import: "Joined by an import",
};

/** All IDs of a person, and how each became one. */
export function UserIds({ project, user }: { project: string; user: User }) {
  const mayChange = useCan()("users:change");
  const [splitting, setSplitting] = useState<IdOfUser | null>(null);
  if (user.ids.length === 1) return null;
  return (
    <section aria-label="IDs">
      <h2 className="mb-1 font-semibold text-sm">{user.ids.length} IDs of one person</h2>
      <ul className="text-sm">
        {user.ids.map((id) => (
          <li
            key={id.userId}
            className="flex min-h-10 items-center gap-2 border-line border-b py-1.5 last:border-b-0"
          >
            <div className="min-w-0 flex-1">
              <span className="hostile block">{id.userId}</span>
              <span className="block text-faint text-xs">
                <Joined id={id} mainId={user.userId} />
              </span>
            </div>
            {mayChange && id.joinedTo !== null && (
              <RowMenu
                name={id.userId}
                actions={[{ label: "Split off…", icon: Split, onSelect: () => setSplitting(id) }]}
              />
            )}
          </li>
        ))}
      </ul>
      {splitting && (
        <SplitDialog project={project} user={user} id={splitting} close={() => setSplitting(null)} />
      )}
    </section>
  );
}

function Joined({ id, mainId }: { id: IdOfUser; mainId: string }) {
  const { joinedAt, joinedBy, joinedName, joinedTo } = id;
  if (joinedAt === null || joinedBy === null) return "Main ID";
  return (
    <>
      {joinedTexts[joinedBy]}
      {joinedTo !== mainId && (
        <>
          {" "}
          to <bdi className="hostile">{joinedTo}</bdi>
        </>
      )}
      {joinedName !== null && (
        <>
          , <bdi className="hostile">{joinedName}</bdi>
        </>
      )}
      {" · "}
      <RelativeTime at={joinedAt} form="long" />
    </>
  );
}
