import { Command } from "cmdk";
import { ChevronRight } from "lucide-react";
import { Dialog } from "radix-ui";
import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from "react";
import { useProjectSlug } from "../projects/current-project.ts";
import { focusOpener } from "../shell/opener.ts";
import { type MuteStep, useActionItems, useMuteItems } from "./action-items.tsx";
import { type DialogName, dialogs } from "./dialogs.ts";
import { useEventItem, useFoundItems, useSearchItem, useUserItem } from "./found-items.tsx";
import { type Group, type Item, matchingGroups } from "./items.ts";
import { PaletteGroup, PaletteItem } from "./palette-item.tsx";
import { usePlaceItems } from "./place-items.tsx";
import { recentlyChosen, rememberChosen } from "./recent-items.ts";

/** The command palette: go anywhere, find events and users, or do something. */
export default function Palette({ close }: { close: () => void }) {
  const [dialog, setDialog] = useState<DialogName | null>(null);
  const Opened = dialog && dialogs[dialog];
  return Opened ? <Opened close={close} /> : <PaletteDialog close={close} open={setDialog} />;
}

function PaletteDialog({ close, open }: { close: () => void; open: (dialog: DialogName) => void }) {
  const project = useProjectSlug();
  const [typed, setTyped] = useState("");
  const [muting, setMuting] = useState<MuteStep | null>(null);
  const found = useFoundItems(muting ? "" : typed);
  const known = [...usePlaceItems(), ...useActionItems({ open, mute: stepTo })];
  const recent = useRecentItems(project, known);
  const muteItems = useMuteItems(muting ?? { channel: null }, stepTo);
  const matching = matchingGroups(
    muting ? muteItems : typed.trim() === "" ? [...recent, ...known] : known,
    typed,
  );
  const shown = joined([
    ...found.first,
    ...matching.flatMap(({ isNamed, items }) => (isNamed ? items : [])),
    ...found.last,
    ...matching.flatMap(({ isNamed, items }) => (isNamed ? [] : items)),
  ]);

  // The first item is selected, also when better ones arrive, until another one is chosen.
  const first = shown[0]?.[1][0];
  const firstValue = first ? itemValue(shown[0]![0], first) : "";
  const [selected, setSelected] = useState("");
  const hasMoved = useRef(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is typed begins anew, also if the first item stays
  useEffect(() => {
    if (!hasMoved.current) setSelected(firstValue);
  }, [firstValue, typed]);

  function type(text: string) {
    setTyped(text);
    hasMoved.current = false;
  }

  function stepTo(step: MuteStep | null) {
    setMuting(step);
    type("");
  }

  function choose(item: Item) {
    // Nobody wants to sign out again by Enter in the open palette.
    if (!muting && item.group !== "Actions") rememberChosen(project, item);
    if (!item.stays) close();
    item.run();
  }

  function onKey({ key }: KeyboardEvent) {
    if (/^(Arrow(Up|Down)|Home|End)$/.test(key)) hasMoved.current = true;
    if (key === "Backspace" && typed === "" && muting)
      stepTo(muting.channel === null ? null : { channel: null });
  }

  return (
    <Dialog.Root open onOpenChange={close}>
      <Dialog.Portal>
        <Dialog.Overlay className="fixed inset-0 z-40 animate-fade bg-overlay" />
        <Dialog.Content
          aria-describedby={undefined}
          onCloseAutoFocus={focusOpener}
          className="fixed inset-x-4 top-[12vh] z-50 mx-auto max-w-xl animate-rise overflow-hidden rounded-xl border border-line-strong bg-raised shadow-lg outline-none"
        >
          <Dialog.Title className="sr-only">Search and commands</Dialog.Title>
          <Command
            label="Search and commands"
            loop
            shouldFilter={false}
            value={selected}
            onValueChange={(value) => hasMoved.current && setSelected(value)}
            onKeyDown={onKey}
            onPointerMove={() => {
              hasMoved.current = true;
            }}
          >
            {muting && <Steps step={muting} />}
            <Command.Input
              value={typed}
              onValueChange={type}
              placeholder={
                muting
                  ? muting.channel === null
                    ? "Which channel?"
                    : "For how long?"
                  : "Search events, users, pages and actions…"
              }
              className="h-12 w-full border-line border-b bg-transparent px-4 text-lg outline-none placeholder:text-faint placeholder-shown:text-ellipsis"
            />
            <Command.List className="max-h-[min(420px,60vh)] overflow-y-auto p-1.5">
              {shown.length === 0 && <p className="py-8 text-center text-muted text-sm">No results</p>}
              {shown.map(([group, items]) => (
                <PaletteGroup key={group} {...(!muting && { heading: group })}>
                  {items.map((item) => (
                    <PaletteItem
                      key={item.id}
                      item={item}
                      value={itemValue(group, item)}
                      onSelect={() => choose(item)}
                    />
                  ))}
                </PaletteGroup>
              ))}
            </Command.List>
          </Command>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

/** The choices that led here. */
function Steps({ step }: { step: MuteStep }) {
  return (
    <p className="flex items-center gap-1 px-4 pt-3 text-muted text-sm">
      Mute
      {step.channel !== null && (
        <>
          <ChevronRight aria-hidden className="size-3.5 text-faint" />
          <span className="hostile-line">{step.channel}</span>
        </>
      )}
    </p>
  );
}

/** The most recent choices that still exist. */
function useRecentItems(project: string, known: readonly Item[]): Item[] {
  const chosen = useMemo(() => recentlyChosen(project), [project]);
  const searchItem = useSearchItem();
  const userItem = useUserItem();
  const eventItem = useEventItem();
  const made = ({ id, label, detail }: (typeof chosen)[number]): Item | undefined => {
    const [kind, text] = [id.slice(0, id.indexOf(" ")), id.slice(id.indexOf(" ") + 1)];
    if (kind === "search") return searchItem(text, label);
    if (kind === "user") return userItem({ text: label, detail });
    if (kind === "event") return eventItem(text, label, detail);
    return known.find((item) => item.id === id);
  };
  return chosen.flatMap((each) => {
    const item = made(each);
    return item ? [{ ...item, group: "Recent" }] : [];
  });
}

/** The items by group, in the order of each group's first. */
function joined(items: readonly Item[]): [Group, Item[]][] {
  const groups = new Map<Group, Item[]>();
  for (const item of items) groups.set(item.group, [...(groups.get(item.group) ?? []), item]);
  return [...groups];
}

/** As cmdk compares it: recent items stand for others. */
function itemValue(group: Group, { id }: Item): string {
  return `${group} ${id}`.trim();
}
