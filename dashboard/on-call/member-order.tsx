import { ArrowDown, ArrowUp, X } from "lucide-react";
import type { Member } from "../../server/schemas/member.ts";
import { IconButton } from "../components/ui/button.tsx";
import { SelectField } from "../components/ui/field.tsx";
import { nameIn } from "./on-call-form.ts";

type Props = {
  /** Those who can be on call. */
  members: Member[];
  chosen: string[];
  change: (chosen: string[]) => void;
  /** Of the request. */
  member: string;
};

/** The members of a rotation, in the order of their turns. */
export function MemberOrder({ members, chosen, change, member }: Props) {
  const nameOf = nameIn(members);
  const moved = (at: number, by: 1 | -1) => {
    const next = [...chosen];
    [next[at], next[at + by]] = [next[at + by]!, next[at]!];
    change(next);
  };
  return (
    <div className="flex flex-col gap-2">
      {chosen.length > 0 && (
        <ol aria-label="Members in the order of their turns" className="flex flex-col gap-1">
          {chosen.map((id, at) => (
            <li
              // biome-ignore lint/suspicious/noArrayIndexKey: a member can have several turns
              key={`${id} ${at}`}
              className="flex min-h-9 items-center gap-2 rounded-md border border-line bg-canvas pr-1 pl-3 text-sm"
            >
              <span className="text-faint tabular-nums">{at + 1}</span>
              <span className="hostile min-w-0 flex-1">{nameOf(id)}</span>
              <IconButton
                label={`Move ${nameOf(id)} up`}
                className="size-7 disabled:opacity-40 max-md:size-10"
                disabled={at === 0}
                onClick={() => moved(at, -1)}
              >
                <ArrowUp aria-hidden className="size-4" />
              </IconButton>
              <IconButton
                label={`Move ${nameOf(id)} down`}
                className="size-7 disabled:opacity-40 max-md:size-10"
                disabled={at === chosen.length - 1}
                onClick={() => moved(at, 1)}
              >
                <ArrowDown aria-hidden className="size-4" />
              </IconButton>
              <IconButton
                label={`Remove ${nameOf(id)}`}
                className="size-7 max-md:size-10"
                onClick={() => change(chosen.toSpliced(at, 1))}
              >
                <X aria-hidden className="size-4" />
              </IconButton>
            </li>
          ))}
        </ol>
      )}
      <SelectField
        label={chosen.length === 0 ? "Members" : "Add a member"}
        value=""
        required={chosen.length === 0}
        onChange={(event) => change([...chosen, event.target.value])}
        member={member}
        subject="The rotation"
        hint={chosen.length === 0 ? "They take turns in the order in which you add them." : undefined}
      >
        <option value="">Choose a member</option>
        {members
          .filter(({ id }) => !chosen.includes(id))
          .map(({ id, name, email }) => (
            <option key={id} value={id}>
              {name || email}
            </option>
          ))}
      </SelectField>
    </div>
  );
}
