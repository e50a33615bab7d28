import { Download } from "lucide-react";
import { Button, buttonClass } from "../components/ui/button.tsx";
import { CopyButton } from "../components/ui/copy-button.tsx";
import { Dialog, DialogButtons } from "../components/ui/dialog.tsx";

/** Recovery codes, which are shown only once. */
export function RecoveryCodes({
  title,
  codes,
  close,
}: {
  title: string;
  codes: string[];
  close: () => void;
}) {
  const text = `${codes.join("\n")}\n`;
  return (
    <Dialog
      open
      onOpenChange={close}
      title={title}
      description="If you lose your phone, each of these recovery codes signs you in once. Save them now: you won't see them again."
    >
      <div className="flex flex-col gap-4">
        <ul
          data-secret
          className="grid grid-cols-2 gap-x-6 gap-y-1.5 rounded-lg border border-accent/40 bg-accent-soft p-4 font-mono text-sm"
        >
          {codes.map((code) => (
            <li key={code} className="select-all">
              {code}
            </li>
          ))}
        </ul>
        <div className="flex flex-wrap gap-2">
          <CopyButton text={text} label="Copy codes" />
          <a
            className={buttonClass()}
            download="tidings-recovery-codes.txt"
            href={`data:text/plain;charset=utf-8,${encodeURIComponent(`Tidings recovery codes for ${location.host}\n\n${text}`)}`}
          >
            <Download aria-hidden className="size-3.5" />
            Download
          </a>
        </div>
      </div>
      <DialogButtons>
        <Button variant="solid" onClick={close}>
          I saved them
        </Button>
      </DialogButtons>
    </Dialog>
  );
}
