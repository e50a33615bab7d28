import { clsx } from "clsx";
import { type KeyboardEvent, useId, useRef, useState } from "react";
import { CodeBlock } from "../components/ui/code-block.tsx";
import { loadChoice, saveChoice } from "../storage.ts";
import { sendExamples } from "./send-examples.ts";

const choice = "example-language";

/** Programs to copy that send an event with this key to this server; the chosen language is remembered. */
export function ExampleTabs({ apiKey, channel }: { apiKey: string; channel?: string | undefined }) {
  const id = useId();
  const tabs = useRef<HTMLDivElement>(null);
  const [chosen, setChosen] = useState(() => loadChoice(choice) ?? "curl");
  const examples = sendExamples({ key: apiKey, origin: location.origin, channel });
  const at = Math.max(
    0,
    examples.findIndex((example) => example.id === chosen),
  );
  const { hint, code, id: current } = examples[at]!;

  function choose(next: string) {
    setChosen(next);
    saveChoice(choice, next);
  }

  // https://www.w3.org/WAI/ARIA/apg/patterns/tabs/
  function onKeyDown(event: KeyboardEvent) {
    const last = examples.length - 1;
    const next = {
      ArrowLeft: at === 0 ? last : at - 1,
      ArrowRight: at === last ? 0 : at + 1,
      Home: 0,
      End: last,
    }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    choose(examples[next]!.id);
    tabs.current?.querySelectorAll<HTMLElement>('[role="tab"]')[next]?.focus();
  }

  return (
    <div className="flex flex-col gap-2">
      <div
        ref={tabs}
        role="tablist"
        aria-label="Language"
        onKeyDown={onKeyDown}
        className="flex gap-0.5 overflow-x-auto"
      >
        {examples.map(({ id: language, label }) => (
          <button
            key={language}
            type="button"
            role="tab"
            id={`${id}-${language}`}
            aria-selected={language === current}
            aria-controls={`${id}-panel`}
            tabIndex={language === current ? 0 : -1}
            onClick={() => choose(language)}
            className={clsx(
              "h-8 shrink-0 rounded-md px-2.5 text-sm focus-visible:outline-offset-[-2px] max-md:h-10",
              language === current
                ? "bg-pressed font-medium text-ink"
                : "text-muted hover:bg-hover hover:text-ink",
            )}
          >
            {label}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${current}`}>
        <CodeBlock label={hint} code={code} copyLabel={current === "curl" ? "Copy command" : "Copy code"} />
      </div>
    </div>
  );
}
