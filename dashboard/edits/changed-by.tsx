import { useQuery } from "@tanstack/react-query";
import type { LastChange } from "../../server/core/problems.ts";
import { useMe } from "../account/me.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { membersQuery } from "../members/members.ts";
import { useProjectSlug } from "../projects/current-project.ts";

/** The person who changed or deleted the edited thing. */
export type ChangedBy = {
  name: string;
  /** It is the same person, in another tab or browser. */
  isSelf: boolean;
};

/** @param isOwn - only its owner can have changed it */
export function useChangedBy(change: LastChange | undefined, isOwn: boolean): ChangedBy {
  const project = useProjectSlug();
  const { account } = useMe();
  const { data: members = [] } = useQuery({ ...membersQuery(project), enabled: change !== undefined });
  const { kind, id, name } = change?.by ?? { kind: null, id: null, name: null };
  if (isOwn || (kind === "account" && id === account.id)) return { name: "You", isSelf: true };
  const member = kind === "account" ? members.find((each) => each.id === id) : undefined;
  const names: Record<string, string | null> = {
    account: member?.name || member?.email || name,
    key: `The API key ${name}`,
    server: "The server",
    command: "Somebody at the command line",
  };
  return { name: (kind && names[kind]) || "Somebody else", isSelf: false };
}

type ChangeSentenceProps = { who: ChangedBy; verb: string; change: LastChange | undefined };

/** "Grace Hopper saved it 12 minutes ago", with the parts that are known. */
export function ChangeSentence({ who: { name, isSelf }, verb, change }: ChangeSentenceProps) {
  return (
    <>
      {name} {verb} it{isSelf && " in another tab or browser"}
      {change && (
        <>
          {" "}
          <RelativeTime at={change.at} form="long" />
        </>
      )}
      , after you began to edit it here.
    </>
  );
}
