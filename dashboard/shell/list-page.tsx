import { Plus } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Button } from "../components/ui/button.tsx";
import { EmptyState, ErrorState, Skeleton } from "../components/ui/states.tsx";
import { PageHeader } from "./page-header.tsx";

type Props<Item> = {
  title: string;
  /** Explains the items' purpose. */
  intro: ReactNode;
  query: { data: Item[] | undefined; error: unknown; refetch: () => unknown };
  empty: { icon: ReactNode; title: string; text: ReactNode };
  /** The button that creates an item. Without it, the person may not. */
  create?: { label: string; open: () => void } | false;
  /** Links beside that button. */
  links?: ReactNode;
  /** Notes above the list. */
  notes?: ReactNode;
  /** Lists the items. */
  list: (items: Item[]) => ReactNode;
  /** Content below the list. */
  children?: ReactNode;
};

/** A page of settings that lists a project's items of one kind. */
export function ListPage<Item>(props: Props<Item>) {
  const { title, intro, empty, create, links, notes, list, children } = props;
  const { data: items, error, refetch } = props.query;
  const button = create && (
    <Button variant="solid" onClick={create.open}>
      <Plus aria-hidden className="size-4" />
      {create.label}
    </Button>
  );
  return (
    <>
      <PageHeader title={title} />
      <div className="min-h-0 flex-1 overflow-y-auto">
        <div className="mx-auto flex max-w-5xl flex-col gap-5 px-4 py-6 md:px-8 md:py-8">
          <div className="flex items-center justify-between gap-4 max-md:flex-col max-md:items-start">
            <p className="max-w-2xl text-pretty text-muted text-sm">{intro}</p>
            <div className="flex shrink-0 flex-wrap gap-2">
              {links}
              {items && items.length > 0 && button}
            </div>
          </div>
          {notes}
          {error && !items ? (
            <ErrorState title={`${title} couldn't be loaded`} error={error} retry={() => void refetch()} />
          ) : !items ? (
            <Skeleton className="h-32 rounded-lg" />
          ) : items.length === 0 ? (
            <EmptyState icon={empty.icon} title={empty.title} action={button}>
              {empty.text}
            </EmptyState>
          ) : (
            list(items)
          )}
          {items && children}
        </div>
      </div>
    </>
  );
}

/** The open dialog and its item. */
export function useItemDialog<Item, Name extends string>() {
  const [opened, setOpened] = useState<{ name: Name; item: Item } | null>(null);
  return {
    opened,
    open: (name: Name) => (item: Item) => setOpened({ name, item }),
    close: () => setOpened(null),
  };
}
