import { type ComponentType, Fragment, type ReactNode, useState } from "react";
import { useItemDialog } from "../shell/list-page.tsx";
import { DraftNote, useDrafts } from "./draft-note.tsx";

type Props<Item, Name extends string> = {
  /** Of the drafts' keys. */
  kind: string;
  /** As one says it: "rule". */
  noun: string;
  nameOf: (item: Item) => string;
  /** Whether the person may create and edit items, and so has drafts. */
  canEdit: boolean;
  Create: ComponentType<{ close: () => void }>;
  /** The dialogs about an item, of which `edit` goes on with a draft. */
  dialogs: Record<Name | "edit", (item: Item, close: () => void) => ReactNode>;
};

/** The dialogs of a page that lists items, and notes about what was not saved in them. */
export function useListDialogs<Item extends { id: string }, Name extends string = never>(
  props: Props<Item, Name>,
) {
  const { kind, noun, nameOf, canEdit, Create, dialogs } = props;
  const [creating, setCreating] = useState(false);
  const { opened, open, close } = useItemDialog<Item, Name | "edit">();
  const { drafts, update, discard } = useDrafts<Item, unknown>(kind);
  const create = () => setCreating(true);
  return {
    create,
    open,
    notes:
      canEdit &&
      !opened &&
      !creating &&
      drafts.map(({ key, base, form: _, ...draft }) => (
        <DraftNote
          key={key}
          of={base ? `the ${noun} ${nameOf(base)}` : `a new ${noun}`}
          draft={draft}
          resume={() => (base ? open("edit")(base) : create())}
          discard={() => discard(key)}
        />
      )),
    dialog: (
      <>
        {creating && (
          <Create
            close={() => {
              setCreating(false);
              update();
            }}
          />
        )}
        {opened && (
          <Fragment key={opened.item.id}>
            {dialogs[opened.name](opened.item, () => {
              close();
              update();
            })}
          </Fragment>
        )}
      </>
    ),
  };
}
