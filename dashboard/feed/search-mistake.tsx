import { type RefObject, useLayoutEffect, useRef } from "react";
import type { SearchError } from "../../server/event/search.ts";

export type SearchMistakeProps = UnderlineProps & MistakeTextProps & { id: string };

/** Underlines the mistake in the search box. Below it, explains the mistake and how to correct it. */
export function SearchMistake({ id, error, text, input, correct }: SearchMistakeProps) {
  return (
    <>
      <MistakeUnderline error={error} text={text} input={input} />
      <p id={id} role="alert" className="w-full pb-1 pl-7 text-danger text-xs">
        <MistakeText error={error} correct={correct} />
      </p>
    </>
  );
}

type UnderlineProps = { error: SearchError; text: string; input: RefObject<HTMLInputElement | null> };

/** Lies over an input that has the same positioned ancestor. */
export function MistakeUnderline({ error, text, input }: UnderlineProps) {
  const underline = useRef<HTMLDivElement>(null);
  const start = error.column - 1;
  const length = /^[^\s()]+/.exec(text.slice(start))?.[0].length ?? 1;

  // The copy of the text lies over the input, also when the input is scrolled or moves to another line.
  useLayoutEffect(() => {
    const box = input.current;
    const copy = underline.current;
    if (!box || !copy) return;
    function place() {
      copy!.style.top = `${box!.offsetTop}px`;
      copy!.style.left = `${box!.offsetLeft}px`;
      copy!.style.width = `${box!.offsetWidth}px`;
      copy!.style.height = `${box!.offsetHeight}px`;
      const { fontFamily, fontSize, fontWeight, letterSpacing, paddingLeft, borderLeftWidth } =
        getComputedStyle(box!);
      Object.assign(copy!.style, { fontFamily, fontSize, fontWeight, letterSpacing });
      copy!.style.lineHeight = `${box!.offsetHeight}px`;
      copy!.style.padding = `0 calc(${paddingLeft} + ${borderLeftWidth})`;
      copy!.scrollLeft = box!.scrollLeft;
    }
    place();
    const observer = new ResizeObserver(place);
    observer.observe(box);
    box.addEventListener("scroll", place);
    return () => {
      observer.disconnect();
      box.removeEventListener("scroll", place);
    };
  }, [input]);

  return (
    <div
      ref={underline}
      aria-hidden
      className="pointer-events-none absolute overflow-hidden whitespace-pre text-transparent"
    >
      {text.slice(0, start)}
      <span className="underline decoration-2 decoration-danger decoration-wavy underline-offset-4">
        {text.slice(start, start + length) || "\u00a0"}
      </span>
      {text.slice(start + length)}
    </div>
  );
}

type MistakeTextProps = { error: SearchError; correct: (corrected: string) => void };

/** Explains the mistake. A button corrects it if the meaning is clear. */
export function MistakeText({ error: { message, corrected }, correct }: MistakeTextProps) {
  return (
    <span className="flex flex-wrap items-center gap-x-2">
      <span className="hostile">{message}</span>
      {corrected !== null && (
        <button
          type="button"
          onClick={() => correct(corrected)}
          className="inline-flex min-h-6 max-w-full items-center gap-1 rounded-md border border-line-strong bg-raised px-2 text-ink hover:bg-hover max-md:min-h-10"
        >
          <span className="shrink-0 text-muted">Search for</span>
          <span className="hostile-line font-medium">{corrected}</span>
        </button>
      )}
    </span>
  );
}
