import { CopyButton } from "./copy-button.tsx";

type CodeBlockProps = { code: string; label: string; copyLabel?: string };

/** Code to copy. It has its own scrollbar and is reachable by keyboard. */
export function CodeBlock({ code, label, copyLabel = "Copy" }: CodeBlockProps) {
  return (
    <figure className="overflow-hidden rounded-lg border border-line bg-canvas">
      <figcaption className="flex h-10 items-center justify-between gap-2 border-line border-b pr-1 pl-3 text-muted text-xs max-md:h-12">
        {label}
        <CopyButton text={code} label={copyLabel} variant="ghost" className="h-7" />
      </figcaption>
      <section
        aria-label={label}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable box must be reachable by keyboard
        tabIndex={0}
        className="max-h-96 overflow-auto focus-visible:outline-offset-[-2px]"
      >
        <pre className="whitespace-pre-wrap break-words p-3 text-left font-mono text-xs leading-5 [overflow-wrap:anywhere]">
          {code}
        </pre>
      </section>
    </figure>
  );
}
