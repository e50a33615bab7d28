import { CopyButton } from "../components/ui/copy-button.tsx";

/** A secret that is shown only once. */
export function SecretBox({ secret }: { secret: string }) {
  return (
    <div className="flex items-center gap-3 rounded-lg border border-accent/40 bg-accent-soft py-2 pr-2 pl-3">
      <code data-secret className="min-w-0 flex-1 select-all break-all font-mono text-sm">
        {secret}
      </code>
      <CopyButton text={secret} label="Copy key" />
    </div>
  );
}
