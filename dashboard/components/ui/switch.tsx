import { Switch as Radix } from "radix-ui";
import { type ReactNode, useId } from "react";

type SwitchRowProps = {
  label: string;
  hint?: ReactNode;
  checked: boolean;
  disabled?: boolean;
  onChange: (checked: boolean) => void;
  /** A further action next to the switch, such as a test button. */
  children?: ReactNode;
};

/** An on/off setting: label and hint on the left, the switch on the right. */
export function SwitchRow({ label, hint, checked, disabled = false, onChange, children }: SwitchRowProps) {
  const id = useId();
  return (
    <div className="flex min-h-16 items-center gap-4 px-4 py-3">
      <div className="min-w-0 flex-1">
        <label htmlFor={id} className="block font-medium text-base">
          {label}
        </label>
        {hint && (
          <p id={`${id}-hint`} className="hostile text-muted text-sm">
            {hint}
          </p>
        )}
      </div>
      {children}
      <Radix.Root
        id={id}
        checked={checked}
        disabled={disabled}
        onCheckedChange={onChange}
        aria-describedby={hint ? `${id}-hint` : undefined}
        className="relative h-5 w-9 shrink-0 rounded-full border border-line-strong bg-pressed transition-colors after:absolute after:-inset-3 after:content-[''] disabled:opacity-60 data-[state=checked]:border-accent data-[state=checked]:bg-accent"
      >
        <Radix.Thumb className="block size-4 translate-x-px rounded-full bg-muted transition-transform data-[state=checked]:translate-x-[17px] data-[state=checked]:bg-on-accent" />
      </Radix.Root>
    </div>
  );
}
