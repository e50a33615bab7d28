import { clsx } from "clsx";
import { type ComponentProps, type ReactNode, useId } from "react";
import { ApiError, errorMessage } from "../../api.ts";

const inputClass =
  "w-full rounded-md border border-line-strong bg-raised px-3 text-base text-ink placeholder:text-faint " +
  "max-md:text-lg focus-visible:outline-offset-0 aria-invalid:border-danger";

type LabelProps = {
  label: string;
  hint?: ReactNode;
  error?: ReactNode;
  className?: string;
};

type DescribedBy = { id: string; "aria-invalid": true | undefined; "aria-describedby": string | undefined };

/** A label above an input; below it, the hint and the server's error for the field. */
function LabelledInput({
  label,
  hint,
  error,
  className,
  children,
}: LabelProps & { children: (described: DescribedBy) => ReactNode }) {
  const id = useId();
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ");
  return (
    <div className={clsx("flex flex-col gap-1.5", className)}>
      <label htmlFor={id} className="font-medium text-sm">
        {label}
      </label>
      {children({
        id,
        "aria-invalid": error ? true : undefined,
        "aria-describedby": described || undefined,
      })}
      {hint && (
        <p id={`${id}-hint`} className="text-faint text-xs">
          {hint}
        </p>
      )}
      {error && (
        <p id={`${id}-error`} role="alert" className="text-danger text-xs">
          {error}
        </p>
      )}
    </div>
  );
}

export function Field({ label, hint, error, className, ...input }: LabelProps & ComponentProps<"input">) {
  return (
    <LabelledInput label={label} hint={hint} error={error} {...(className && { className })}>
      {(described) => <input {...input} {...described} className={clsx(inputClass, "h-9 max-md:h-11")} />}
    </LabelledInput>
  );
}

/** A `Field` with several lines. */
export function TextField({
  label,
  hint,
  error,
  className,
  ...input
}: LabelProps & ComponentProps<"textarea">) {
  return (
    <LabelledInput label={label} hint={hint} error={error} {...(className && { className })}>
      {(described) => (
        <textarea {...input} {...described} className={clsx(inputClass, "resize-y py-2 leading-5")} />
      )}
    </LabelledInput>
  );
}

/** A `Field` with a list of choices: `option` elements. */
export function SelectField({
  label,
  hint,
  error,
  className,
  ...input
}: LabelProps & ComponentProps<"select">) {
  return (
    <LabelledInput label={label} hint={hint} error={error} {...(className && { className })}>
      {(described) => (
        <select {...input} {...described} className={clsx(inputClass, "h-9 pr-8 max-md:h-11")} />
      )}
    </LabelledInput>
  );
}

type ChoicesProps = { label: string; error?: string | undefined; className?: string; children: ReactNode };

/** A group of radio buttons or checkboxes. */
export function Choices({ label, error, className, children }: ChoicesProps) {
  return (
    <fieldset className="flex flex-col gap-1.5">
      <legend className="mb-1.5 font-medium text-sm">{label}</legend>
      <div className={clsx("grid gap-2", className)}>{children}</div>
      {error && (
        <p role="alert" className="text-danger text-xs">
          {error}
        </p>
      )}
    </fieldset>
  );
}

type ChoiceProps = {
  type: "radio" | "checkbox";
  name: string;
  label: string;
  hint?: string;
  checked: boolean;
  autoFocus?: boolean;
  onChange: (checked: boolean) => void;
};

export function Choice({ label, hint, checked, onChange, ...input }: ChoiceProps) {
  return (
    <label
      className={clsx(
        "flex cursor-pointer items-start gap-2.5 rounded-md border px-3 py-2",
        checked ? "border-accent/60 bg-accent-soft" : "border-line-strong hover:bg-hover",
      )}
    >
      <input
        {...input}
        checked={checked}
        onChange={(event) => onChange(event.target.checked)}
        className="mt-0.5 size-4 shrink-0 accent-accent"
      />
      <span className="min-w-0">
        <span className="hostile block font-medium text-sm">{label}</span>
        {hint && <span className="block text-muted text-xs">{hint}</span>}
      </span>
    </label>
  );
}

/** The error of one field, found by the problem's pointer (`/email`), as a sentence. */
export function fieldError(error: unknown, field: string): string | undefined {
  if (!(error instanceof ApiError)) return undefined;
  const found = error.errors.find((each) => each.pointer === `/${field}`);
  if (!found) return undefined;
  const text = found.detail.charAt(0).toUpperCase() + found.detail.slice(1);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** The error of the whole form, unless one of its fields already shows it. */
export function formError(error: unknown, fields: string[]): string | undefined {
  if (!error) return undefined;
  return fields.some((field) => fieldError(error, field)) ? undefined : errorMessage(error);
}
