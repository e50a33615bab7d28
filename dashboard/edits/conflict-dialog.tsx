import { clsx } from "clsx";
import { useId, useState } from "react";
import type { LastChange } from "../../server/core/problems.ts";
import { Button } from "../components/ui/button.tsx";
import { FormDialog } from "../components/ui/form-dialog.tsx";
import { type ChangedBy, ChangeSentence, useChangedBy } from "./changed-by.tsx";
import { type Choice, type Choices, choicesOf, type Difference } from "./differences.ts";

export type ConflictDialogProps = {
  /** The noun for the edited thing: "rule". */
  what: string;
  /** Only its owner edits it, in several tabs. */
  isOwn: boolean;
  change: LastChange | undefined;
  differences: Difference[];
  /** Saves the choices. */
  resolve: (choices: Choices) => void;
  /** Leads back to the form. */
  back: () => void;
};

/** Shows what two people have changed in the same thing, and asks what to keep. */
export default function ConflictDialog(props: ConflictDialogProps) {
  const { what, isOwn, change, differences, resolve, back } = props;
  const [choices, setChoices] = useState<Choices>(() => choicesOf(differences));
  const who = useChangedBy(change, isOwn);
  const isChosen = differences.every(({ key }) => choices[key] !== undefined);
  const canKeepBoth = differences.every(({ changedBy, allowsBoth }) => changedBy !== "both" || allowsBoth);

  function chooseAll(choice: Choice) {
    const chosen = differences.map(({ key, changedBy }) => [key, choice === "both" ? changedBy : choice]);
    setChoices(Object.fromEntries(chosen));
  }

  return (
    <FormDialog
      wide
      title={`This ${what} has changed meanwhile`}
      description={
        <span className="hostile block">
          <ChangeSentence who={who} verb="saved" change={change} /> Choose what to keep.
        </span>
      }
      action="Save"
      disabled={!isChosen}
      submit={() => resolve(choices)}
      close={back}
      back={back}
    >
      {differences.length > 1 && (
        <div className="flex flex-wrap gap-2">
          <Button onClick={() => chooseAll("mine")}>{who.isSelf ? "All from here" : "All of mine"}</Button>
          <Button onClick={() => chooseAll("theirs")}>
            {who.isSelf ? "All from the other tab" : "All of theirs"}
          </Button>
          {canKeepBoth && <Button onClick={() => chooseAll("both")}>The changes of both</Button>}
        </div>
      )}
      {differences.map((difference) => (
        <Row
          key={difference.key}
          difference={difference}
          who={who}
          chosen={choices[difference.key]}
          choose={(choice) => setChoices({ ...choices, [difference.key]: choice })}
        />
      ))}
    </FormDialog>
  );
}

type RowProps = {
  difference: Difference;
  who: ChangedBy;
  chosen: Choice | undefined;
  choose: (choice: Choice) => void;
};

/** One difference: the value before editing, and each side's value. */
function Row({ difference, who: { name, isSelf }, chosen, choose }: RowProps) {
  const { label, changedBy, before, mine, theirs, allowsBoth } = difference;
  const group = useId();
  const changedWhere = isSelf
    ? { both: "changed in both tabs", mine: "changed here only", theirs: "changed in the other tab only" }
    : { both: "changed by both of you", mine: "changed by you only", theirs: "changed by them only" };
  const sides: { choice: Choice; heading: string; text: string }[] = [
    { choice: "mine", heading: isSelf ? "Here" : "Yours", text: mine },
    {
      choice: "theirs",
      heading: isSelf ? "In the other tab" : name === "Somebody else" ? "Theirs" : `${name}'s`,
      text: theirs,
    },
    ...(allowsBoth && changedBy === "both"
      ? [{ choice: "both" as const, heading: "Both", text: "One beside the other" }]
      : []),
  ];
  return (
    <fieldset className="min-w-0">
      <legend className="hostile mb-1.5 font-medium text-sm">
        {label} <span className="font-normal text-muted text-xs">{changedWhere[changedBy]}</span>
      </legend>
      <div className={clsx("grid gap-2", sides.length === 3 ? "sm:grid-cols-3" : "sm:grid-cols-2")}>
        {sides.map(({ choice, heading, text }) => (
          <label
            key={choice}
            className={clsx(
              "flex min-w-0 cursor-pointer items-start gap-2.5 rounded-md border px-3 py-2",
              chosen === choice ? "border-accent/60 bg-accent-soft" : "border-line-strong hover:bg-hover",
            )}
          >
            <input
              type="radio"
              required
              name={group}
              checked={chosen === choice}
              onChange={() => choose(choice)}
              className="mt-0.5 size-4 shrink-0 accent-accent"
            />
            <span className="min-w-0 flex-1">
              <span className="hostile-line block text-muted text-xs leading-5">{heading}</span>
              <span className="hostile block max-h-40 overflow-y-auto whitespace-pre-wrap text-sm">
                {text}
              </span>
            </span>
          </label>
        ))}
      </div>
      <p className="hostile mt-1 line-clamp-2 text-faint text-xs">Before: {before}</p>
    </fieldset>
  );
}
