export const navItemClass =
  "group flex h-8 max-md:h-11 shrink-0 items-center gap-2.5 rounded-md px-2 text-sm text-muted transition-colors " +
  "hover:bg-hover hover:text-ink data-active:bg-pressed data-active:font-medium data-active:text-ink " +
  "focus-visible:outline-offset-[-2px]";
