import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useDeferredValue, useState } from "react";
import { limits } from "../../server/core/limits.ts";
import type { User, UserInList } from "../../server/schemas/user.ts";
import { countOf } from "../components/counts.ts";
import { formatNumber } from "../components/locale.ts";
import { Button } from "../components/ui/button.tsx";
import { Dialog, DialogButtons } from "../components/ui/dialog.tsx";
import { Choice, Field } from "../components/ui/field.tsx";
import { FormDialog } from "../components/ui/form-dialog.tsx";
import { mergeUser, refreshPeople } from "./people.ts";
import { usersQuery } from "./users.ts";

type Props = { project: string; user: User; close: () => void };

/** Merges a user with another one, who is searched for first. */
export function MergeDialog({ project, user, close }: Props) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [other, setOther] = useState<UserInList | null>(null);
  const [isForced, setForced] = useState(false);
  const merge = useMutation({
    mutationFn: () => mergeUser(project, user.userId, other!.userId, isForced),
    async onSuccess({ userId }) {
      close();
      await refreshPeople(queries, project);
      if (userId === user.userId) return;
      await navigate({
        to: "/p/$project/users/$userId",
        params: { project, userId },
        search: {},
        replace: true,
      });
    },
  });

  if (other === null)
    return (
      <Dialog
        open
        onOpenChange={close}
        title="Merge with another user"
        description="Choose who is the same person."
      >
        <OtherUsers project={project} user={user} choose={setOther} />
        <DialogButtons>
          <Button variant="ghost" onClick={close}>
            Cancel
          </Button>
        </DialogButtons>
      </Dialog>
    );

  const areBothKnown = user.isKnown && other.isKnown;
  // The known one stays.
  const [stays, joins] = other.isKnown && !user.isKnown ? [other, user] : [user, other];
  return (
    <FormDialog
      title="Merge these users?"
      description={
        <span className="hostile block">
          <bdi className="font-semibold text-ink">{joins.userId}</bdi> becomes a part of{" "}
          <bdi className="font-semibold text-ink">{stays.userId}</bdi>.
        </span>
      }
      error={merge.error}
      action="Merge users"
      busy={merge.isPending}
      disabled={areBothKnown && !isForced}
      submit={() => merge.mutate()}
      back={() => setOther(null)}
      close={close}
    >
      <ul className="list-disc pl-4 text-muted text-sm">
        <li>
          {countOf(joins.events, "event counts", "events count")} for the same person from now on, in all
          charts, for past times too. Events keep their IDs.
        </li>
        <li>
          Properties that only <bdi className="hostile">{joins.userId}</bdi> has are added. Others stay.
        </li>
        <li>You can split the ID off again.</li>
      </ul>
      {areBothKnown && (
        <Choice
          type="checkbox"
          name="force"
          label="They are the same person"
          hint="Your application identified both, so they may be two people."
          checked={isForced}
          onChange={setForced}
        />
      )}
    </FormDialog>
  );
}

const shownUsers = 8;

function OtherUsers({
  project,
  user,
  choose,
}: {
  project: string;
  user: User;
  choose: (other: UserInList) => void;
}) {
  const [typed, setTyped] = useState("");
  const sought = useDeferredValue(typed.trim());
  const { data, error } = useInfiniteQuery(usersQuery(project, "lastSeen", sought));
  const users = data?.pages[0]?.users.filter(({ userId }) => userId !== user.userId).slice(0, shownUsers);
  return (
    <div className="flex flex-col gap-2">
      <Field
        label="Find a user"
        type="search"
        placeholder="ID, email, plan:pro…"
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        maxLength={limits.userSearchCharacters}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
      />
      {error && <p className="text-danger text-sm">{error.message}</p>}
      {users?.length === 0 && <p className="py-2 text-muted text-sm">No other user has this.</p>}
      <ul className="flex flex-col overflow-y-auto">
        {users?.map((other) => (
          <li key={other.userId} className="border-line border-b last:border-b-0">
            <button
              type="button"
              onClick={() => choose(other)}
              className="flex min-h-10 w-full items-center gap-3 rounded-md px-2 py-1 text-left text-sm hover:bg-hover max-md:min-h-10"
            >
              <span className="min-w-0 flex-1">
                <span className="hostile-line block">{other.userId}</span>
                <span className="block text-faint text-xs">{other.isKnown ? "Known" : "Anonymous"}</span>
              </span>
              <span className="shrink-0 text-muted text-xs">
                {formatNumber(other.events)} {other.events === 1 ? "event" : "events"}
              </span>
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
