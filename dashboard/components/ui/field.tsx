import { clsx } from "clsx";
import { type ComponentProps, type ReactNode, useId } from "react";

const inputClass =
  "w-full rounded-md border border-line-strong bg-raised px-3 text-base text-ink placeholder:text-faint " +
  "max-md:text-lg focus-visible:outline-offset-0 aria-invalid:border-danger";

type Labels = {
  label: string;
  hint?: ReactNode;
  fault?: string | undefined;
  className?: string;
};

type Described = { id: string; "aria-invalid": true | undefined; "aria-describedby": string | undefined };

/** A label above an input, and below it its hint and what the server found wrong in it. */
function Labelled({
  label,
  hint,
  fault,
  className,
  children,
}: Labels & { children: (described: Described) => ReactNode }) {
  const id = useId();
  const described = [hint && `${id}-hint`, fault && `${id}-fault`].filter(Boolean).join(" ");
  return (
    <div className={clsx("flex flex-col gap-1.5", className)}>
      <label htmlFor={id} className="font-medium text-sm">
        {label}
      </label>
      {children({
        id,
        "aria-invalid": fault ? true : undefined,
        "aria-describedby": described || undefined,
      })}
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

export function Field({ label, hint, fault, className, ...input }: Labels & ComponentProps<"input">) {
  return (
    <Labelled label={label} hint={hint} fault={fault} {...(className && { className })}>
      {(described) => <input {...input} {...described} className={clsx(inputClass, "h-9 max-md:h-11")} />}
    </Labelled>
  );
}

/** The same for several lines. */
export function TextField({ label, hint, fault, className, ...input }: Labels & ComponentProps<"textarea">) {
  return (
    <Labelled label={label} hint={hint} fault={fault} {...(className && { className })}>
      {(described) => (
        <textarea {...input} {...described} className={clsx(inputClass, "resize-y py-2 leading-5")} />
      )}
    </Labelled>
  );
}
