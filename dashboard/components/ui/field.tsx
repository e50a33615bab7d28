import { clsx } from "clsx";
import { type ComponentProps, type ReactNode, useId } from "react";

const inputClass =
  "h-9 w-full rounded-md border border-line-strong bg-raised px-3 text-base text-ink placeholder:text-faint " +
  "max-md:h-11 max-md:text-lg focus-visible:outline-offset-0 aria-invalid:border-danger";

type FieldProps = ComponentProps<"input"> & {
  label: string;
  hint?: ReactNode;
  fault?: string | undefined;
};

/** A labelled input with its hint, and with what the server found wrong in it. */
export function Field({ label, hint, fault, className, ...input }: FieldProps) {
  const id = useId();
  const described = [hint && `${id}-hint`, fault && `${id}-fault`].filter(Boolean).join(" ");
  return (
    <div className={clsx("flex flex-col gap-1.5", className)}>
      <label htmlFor={id} className="font-medium text-sm">
        {label}
      </label>
      <input
        {...input}
        id={id}
        className={inputClass}
        aria-invalid={fault ? true : undefined}
        aria-describedby={described || undefined}
      />
      {hint && (
        <p id={`${id}-hint`} className="text-faint text-xs">
          {hint}
        </p>
      )}
      {fault && (
        <p id={`${id}-fault`} role="alert" className="text-danger text-xs">
          {fault}
        </p>
      )}
    </div>
  );
}
