import { FileUp } from "lucide-react";
import { type DragEvent, useRef, useState } from "react";
import { errorMessage } from "../api.ts";
import { formatNumber } from "../components/locale.ts";
import { sizeOf } from "../components/size.ts";
import { Button } from "../components/ui/button.tsx";
import { Dialog, DialogButtons } from "../components/ui/dialog.tsx";
import { Alert } from "../components/ui/states.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { guessPlan, type ImportPlan, type Sample, sampleOf } from "./import-file.ts";
import { ImportOptions } from "./import-options.tsx";
import { ImportPreview, isReady } from "./import-preview.tsx";
import { ImportProgress, titleOf } from "./import-progress.tsx";
import { importFile } from "./import-run.ts";
import { type Import, showImport, useImport } from "./imports.ts";

type Chosen = { file: File; sample: Sample };

/** Imports events from a file: asks for the file, shows its format, then the progress. */
export default function ImportDialog({ close }: { close: () => void }) {
  const current = useImport();
  const [isNew, setNew] = useState(current?.state !== "running");
  if (current && !isNew)
    return <RunningImport current={current} close={close} startAnother={() => setNew(true)} />;
  return <NewImport close={close} onStart={() => setNew(false)} />;
}

type RunningProps = { current: Import; close: () => void; startAnother: () => void };

function RunningImport({ current, close, startAnother }: RunningProps) {
  const isRunning = current.state === "running";
  const leave = () => {
    if (!isRunning) showImport(null);
    close();
  };
  return (
    <Dialog open wide onOpenChange={leave} title={titleOf(current)}>
      <div className="flex flex-col gap-4">
        <ImportProgress current={current} onLeave={leave} />
        {current.rejections.length > 0 && (
          <section aria-label="Rejected records" className="overflow-hidden rounded-md border border-line">
            <ul className="max-h-40 overflow-y-auto text-xs">
              {current.rejections.map(({ record, detail }) => (
                <li key={record} className="flex gap-3 border-line border-b px-3 py-1.5 last:border-b-0">
                  <span className="w-20 shrink-0 text-faint tabular-nums">Record {formatNumber(record)}</span>
                  <span className="hostile min-w-0">{detail}</span>
                </li>
              ))}
            </ul>
          </section>
        )}
        {isRunning && (
          <p className="text-muted text-sm">
            The import continues while this tab is open, even if you close this dialog or open another page.
          </p>
        )}
        <DialogButtons>
          {isRunning ? (
            <Button variant="danger" onClick={current.stop}>
              Stop
            </Button>
          ) : (
            <Button variant="ghost" onClick={startAnother}>
              Import another file
            </Button>
          )}
          <Button variant="solid" onClick={leave}>
            {isRunning ? "Continue in the background" : "Done"}
          </Button>
        </DialogButtons>
      </div>
    </Dialog>
  );
}

function NewImport({ close, onStart }: { close: () => void; onStart: () => void }) {
  const project = useProjectSlug();
  const [chosen, setChosen] = useState<Chosen | null>(null);
  const [plan, setPlan] = useState<ImportPlan | null>(null);
  const [failure, setFailure] = useState<string | null>(null);

  async function choose(file: File) {
    setFailure(null);
    try {
      const sample = await sampleOf(file);
      if (sample.records.length === 0) throw new Error("The file has no records.");
      setChosen({ file, sample });
      setPlan(guessPlan(sample));
    } catch (error) {
      setFailure(`${file.name} can't be read: ${errorMessage(error)}`);
    }
  }

  return (
    <Dialog
      open
      wide
      onOpenChange={close}
      title="Import events"
      description="Imported events send no notifications. Importing a file again adds nothing."
    >
      <div className="flex flex-col gap-4">
        {failure && <Alert>{failure}</Alert>}
        <FileField file={chosen?.file} onFile={(file) => void choose(file)} />
        {chosen && plan && (
          <>
            <ImportOptions sample={chosen.sample} plan={plan} change={setPlan} />
            <ImportPreview sample={chosen.sample} plan={plan} />
          </>
        )}
        <DialogButtons>
          <Button variant="ghost" onClick={close}>
            Cancel
          </Button>
          <Button
            variant="solid"
            disabled={!chosen || !plan || !isReady(chosen.sample, plan)}
            onClick={() => {
              void importFile(chosen!.file, plan!, project);
              onStart();
            }}
          >
            Import
          </Button>
        </DialogButtons>
      </div>
    </Dialog>
  );
}

function FileField({ file, onFile }: { file: File | undefined; onFile: (file: File) => void }) {
  const input = useRef<HTMLInputElement>(null);
  const [isOver, setOver] = useState(false);

  function onDrop(event: DragEvent) {
    event.preventDefault();
    setOver(false);
    const dropped = event.dataTransfer.files[0];
    if (dropped) onFile(dropped);
  }

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: dropping a file is one more way to use the button inside
    <div
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={onDrop}
      className={`flex items-center gap-3 rounded-lg border border-dashed px-4 py-4 ${isOver ? "border-accent bg-accent-soft" : "border-line-strong"}`}
    >
      <FileUp aria-hidden className="size-5 shrink-0 text-faint" />
      <p className="min-w-0 flex-1 text-sm">
        {file ? (
          <>
            <span className="hostile-line block font-medium">{file.name}</span>
            <span className="text-muted text-xs">{sizeOf(file.size)}</span>
          </>
        ) : (
          <>
            <span className="block font-medium max-md:hidden">Drop a file here, or choose one</span>
            <span className="text-muted text-xs">
              Lines of JSON, a JSON array, or CSV with a header, also as .gz
            </span>
          </>
        )}
      </p>
      <Button onClick={() => input.current?.click()}>{file ? "Another file" : "Choose file"}</Button>
      <input
        ref={input}
        type="file"
        aria-label="File to import"
        accept=".ndjson,.jsonl,.json,.csv,.tsv,.txt,.gz"
        className="hidden"
        onChange={({ target }) => {
          if (target.files?.[0]) onFile(target.files[0]);
          // The same file can be chosen again after a change.
          target.value = "";
        }}
      />
    </div>
  );
}
