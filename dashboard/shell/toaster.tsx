import { ArrowUpRight } from "lucide-react";
import { useEffect } from "react";
import { Toaster as Sonner, toast as sonner } from "sonner";
import { useDark } from "../theme/theme.ts";
import { type Message, onToasterReady } from "./toasts.tsx";

export default function Toaster() {
  const dark = useDark();
  useEffect(() => onToasterReady(display), []);
  return <Sonner theme={dark ? "dark" : "light"} position="top-right" offset={{ top: 60, right: 16 }} />;
}

function display(message: Message) {
  sonner.custom((id) => <Toast message={message} dismiss={() => sonner.dismiss(id)} />, { duration: 6_000 });
}

function Toast({ message, dismiss }: { message: Message; dismiss: () => void }) {
  const { title, description, failed, open } = message;
  const text = (
    <span className="min-w-0 flex-1 text-left">
      <span className={`hostile line-clamp-2 block font-medium ${failed ? "text-danger" : ""}`}>{title}</span>
      {description && <span className="hostile line-clamp-3 block text-muted">{description}</span>}
    </span>
  );
  const box =
    "flex w-[356px] max-w-[calc(100vw-32px)] items-center gap-3 rounded-lg border border-line-strong bg-raised px-4 py-3 font-sans text-ink text-sm shadow-md";
  if (!open) return <div className={box}>{text}</div>;
  return (
    <button
      type="button"
      className={`${box} hover:bg-hover`}
      onClick={() => {
        dismiss();
        open();
      }}
    >
      {text}
      <ArrowUpRight aria-hidden className="size-4 shrink-0 text-faint" />
    </button>
  );
}
