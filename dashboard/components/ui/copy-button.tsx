import { clsx } from "clsx";
import { Check, Copy } from "lucide-react";
import { useEffect, useState } from "react";
import { Button } from "./button.tsx";

type CopyButtonProps = { text: string; label?: string; variant?: "outline" | "ghost"; className?: string };

export function CopyButton({ text, label = "Copy", variant = "outline", className }: CopyButtonProps) {
  const [outcome, setOutcome] = useState<"copied" | "failed" | null>(null);
  useEffect(() => {
    if (!outcome) return;
    const timer = setTimeout(() => setOutcome(null), 1_600);
    return () => clearTimeout(timer);
  }, [outcome]);

  async function copy() {
    setOutcome((await writeClipboard(text)) ? "copied" : "failed");
  }

  return (
    <Button variant={variant} onClick={copy} className={clsx("min-w-20", className)}>
      {outcome === "copied" ? (
        <Check aria-hidden className="size-3.5 text-good" />
      ) : (
        <Copy aria-hidden className="size-3.5" />
      )}
      <span aria-live="polite">
        {outcome === "copied" ? "Copied" : outcome === "failed" ? "Select to copy" : label}
      </span>
    </Button>
  );
}

/** Falls back to `execCommand`, because `navigator.clipboard` is missing over plain HTTP, as on a LAN. */
async function writeClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    area.style.position = "fixed";
    // Inside an open dialog if there is one, because a dialog takes focus back from anything outside it.
    const container = document.querySelector('[role="dialog"]') ?? document.body;
    container.append(area);
    area.select();
    const copied = document.execCommand("copy");
    area.remove();
    return copied;
  }
}

/** A secret that is shown only once. */
export function SecretBox({ secret, label = "Copy key" }: { secret: string; label?: string }) {
  return (
    <div className="flex items-center gap-3 rounded-lg border border-accent/40 bg-accent-soft py-2 pr-2 pl-3 max-md:flex-col max-md:items-stretch max-md:gap-2 max-md:px-2">
      <code
        data-secret
        className="min-w-0 flex-1 select-all break-all font-mono text-sm max-md:px-1 max-md:pt-1"
      >
        {secret}
      </code>
      <CopyButton text={secret} label={label} />
    </div>
  );
}
