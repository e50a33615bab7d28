import { useNavigate } from "@tanstack/react-router";
import { Command } from "cmdk";
import { Check, Plus } from "lucide-react";
import { Popover } from "radix-ui";
import { type ReactNode, useState } from "react";
import { useMe } from "../account/me.ts";
import type { MenuContentProps } from "../components/ui/lazy-menu.tsx";
import { openOverlay } from "../shell/overlays.tsx";
import { useProjectSlug } from "./current-project.ts";

/** The project menu of those with many projects: type a part of a name, or use the arrow keys. */
export function ProjectSearch({ trigger, defaultOpen }: MenuContentProps) {
  const { projects } = useMe();
  const current = useProjectSlug();
  const navigate = useNavigate();
  const [open, setOpen] = useState(defaultOpen);
  const closeAnd = (action: () => unknown) => () => {
    setOpen(false);
    action();
  };
  return (
    <Popover.Root open={open} onOpenChange={setOpen}>
      <Popover.Trigger asChild>{trigger}</Popover.Trigger>
      <Popover.Content
        aria-label="Projects"
        align="start"
        sideOffset={6}
        collisionPadding={8}
        className="z-50 w-72 animate-rise overflow-hidden rounded-lg border border-line-strong bg-raised shadow-md outline-none"
      >
        <Command label="Projects" loop>
          <Command.Input
            placeholder="Find a project…"
            className="h-10 w-full border-line border-b bg-transparent px-3 text-base outline-none placeholder:text-faint"
          />
          <Command.List className="max-h-[min(360px,60vh)] overflow-y-auto p-1">
            <Command.Empty className="py-6 text-center text-muted text-sm">
              No project of this name
            </Command.Empty>
            {projects.map(({ slug, name }) => (
              <Item
                key={slug}
                value={`${name} ${slug}`}
                onSelect={closeAnd(() =>
                  navigate({ to: "/p/$project", params: { project: slug }, search: {} }),
                )}
              >
                <span className="hostile-line flex-1">{name}</span>
                {slug === current && <Check aria-label="Open now" />}
              </Item>
            ))}
            <Item value="new project" onSelect={closeAnd(() => openOverlay("new-project"))}>
              <Plus aria-hidden />
              New project
            </Item>
          </Command.List>
        </Command>
      </Popover.Content>
    </Popover.Root>
  );
}

type ItemProps = { value: string; onSelect: () => void; children: ReactNode };

function Item({ value, onSelect, children }: ItemProps) {
  return (
    <Command.Item
      value={value}
      onSelect={onSelect}
      className="flex min-h-8 cursor-pointer items-center gap-2 rounded-md px-2 text-sm data-[selected=true]:bg-pressed [&>svg]:size-4 [&>svg]:shrink-0 [&>svg]:text-faint"
    >
      {children}
    </Command.Item>
  );
}
