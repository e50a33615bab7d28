import { clsx } from "clsx";
import { type KeyboardEvent, useDeferredValue, useEffect, useId, useRef, useState } from "react";
import { Field } from "./field.tsx";

type TimeZoneFieldProps = {
  label: string;
  /** An IANA name; empty for none. */
  value: string;
  change: (timeZone: string) => void;
  hint?: string;
  member?: string;
  /** The label for no time zone. Without it, a time zone is required. */
  none?: string;
  className?: string;
};

const shownMax = 60;

type Zone = { name: string; offset: string; words: string };
let all: Zone[] | null = null;

/** Every time zone with the texts that find it: its name and its offset from UTC. */
function zones(): Zone[] {
  all ??= ["UTC", ...Intl.supportedValuesOf("timeZone")].map((name) => {
    const offset = offsetOf(name);
    return { name, offset, words: `${name} ${name.replaceAll(/[/_]/g, " ")} ${offset}`.toLowerCase() };
  });
  return all;
}

/** "GMT+1", as it is now. */
function offsetOf(timeZone: string): string {
  const parts = new Intl.DateTimeFormat("en", { timeZone, timeZoneName: "shortOffset" }).formatToParts();
  return parts.find(({ type }) => type === "timeZoneName")?.value ?? "";
}

/** A time zone, found by typing a part of its name: "berlin", "new york", "gmt+2". */
export function TimeZoneField({ label, value, change, hint, member, none, className }: TimeZoneFieldProps) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const [typed, setTyped] = useState<string | null>(null);
  const [active, setActive] = useState(0);
  const isOpen = typed !== null;
  const sought = useDeferredValue(typed ?? "")
    .trim()
    .toLowerCase();
  const found = isOpen
    ? zones().filter(({ words }) => sought.split(/\s+/).every((word) => words.includes(word)))
    : [];
  const options = [
    ...(none !== undefined && sought === "" ? [{ name: "", offset: "" }] : []),
    ...found.slice(0, shownMax),
  ];

  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  });

  function open() {
    if (isOpen) return;
    setTyped("");
    setActive(0);
  }
  function choose(name: string) {
    change(name);
    setTyped(null);
  }
  function onKey(event: KeyboardEvent) {
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 };
    const step = steps[event.key];
    if (step !== undefined) {
      event.preventDefault();
      if (isOpen) setActive(Math.min(options.length - 1, Math.max(0, active + step)));
      else open();
    } else if (event.key === "Enter" && isOpen) {
      event.preventDefault();
      const option = options[active];
      if (option) choose(option.name);
    } else if (event.key === "Escape" && isOpen) {
      event.preventDefault();
      event.stopPropagation();
      setTyped(null);
    }
  }

  return (
    <div className={clsx("relative", className)}>
      <Field
        label={label}
        hint={hint}
        member={member}
        role="combobox"
        aria-expanded={isOpen}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={isOpen && options[active] ? `${id}-${active}` : undefined}
        value={typed ?? value}
        placeholder={isOpen ? value || "Type a city or an offset" : none}
        onChange={(event) => {
          setTyped(event.target.value);
          setActive(0);
        }}
        onClick={open}
        onKeyDown={onKey}
        // Forgets typed text that wasn't chosen.
        onBlur={() => setTyped(null)}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
      />
      {isOpen && (
        <div
          ref={list}
          id={`${id}-list`}
          role="listbox"
          aria-label={label}
          className="absolute inset-x-0 top-16 z-20 max-h-60 overflow-y-auto rounded-lg border border-line-strong bg-raised p-1 shadow-md"
        >
          {options.length === 0 && (
            <p className="px-2 py-1.5 text-muted text-sm">No time zone has that name.</p>
          )}
          {options.map(({ name, offset }, index) => (
            <div
              key={name}
              id={`${id}-${index}`}
              role="option"
              aria-selected={index === active}
              tabIndex={-1}
              // On pointer down, so that the input keeps the focus.
              onPointerDown={(event) => {
                event.preventDefault();
                choose(name);
              }}
              className={clsx(
                "flex min-h-8 cursor-pointer items-center justify-between gap-3 rounded-md px-2 text-sm max-md:min-h-11",
                index === active ? "bg-pressed" : "hover:bg-hover",
              )}
            >
              <span className="hostile-line">{name === "" ? none : name.replaceAll("_", " ")}</span>
              <span className="shrink-0 text-faint text-xs">{offset}</span>
            </div>
          ))}
          {found.length > shownMax && (
            <p className="px-2 py-1.5 text-faint text-xs">
              Type more to see the other {found.length - shownMax}.
            </p>
          )}
        </div>
      )}
    </div>
  );
}
