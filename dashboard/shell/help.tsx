import { ArrowDown, ArrowLeft, ArrowRight, ArrowUp } from "lucide-react";
import { Dialog } from "../components/ui/dialog.tsx";
import { Kbd } from "./shortcuts.tsx";

const shortcuts: [string[], string][] = [
  [["j", "↓"], "Next event"],
  [["k", "↑"], "Previous event"],
  [["Enter"], "Open the event"],
  [["→", "←"], "Unfold or fold repeated events"],
  [["Esc"], "Close the event"],
  [["p"], "Pause or resume the feed"],
  [["g"], "Go to the newest event"],
  [["/"], "Search the feed"],
  [["c"], "Filter the channels"],
  [["Alt", "↑", "↓"], "Move the pinned channel or view"],
  [["t"], "Choose the time that is shown"],
  [["e"], "Edit the board"],
  [["f"], "Show the board on the full screen"],
  [["Ctrl", "K"], "Find anything, or do something"],
  [["?"], "Keyboard shortcuts"],
];

/** Not every font has arrows. */
const arrows = {
  "↓": <ArrowDown aria-label="Down" className="size-3" />,
  "↑": <ArrowUp aria-label="Up" className="size-3" />,
  "→": <ArrowRight aria-label="Right" className="size-3" />,
  "←": <ArrowLeft aria-label="Left" className="size-3" />,
};

export default function Help({ close }: { close: () => void }) {
  return (
    <Dialog open dismissible onOpenChange={close} title="Keyboard shortcuts">
      <dl className="flex flex-col">
        {shortcuts.map(([keys, description]) => (
          <div
            key={description}
            className="flex h-10 items-center justify-between gap-4 border-line border-b last:border-b-0"
          >
            <dt>{description}</dt>
            <dd className="flex gap-1">
              {keys.map((key) => (
                <Kbd key={key}>{arrows[key as keyof typeof arrows] ?? key}</Kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
