import { clsx } from "clsx";
import { type ComponentProps, type ReactNode, useId } from "react";
import { type MemberProps, useFieldError } from "./form-errors.tsx";

const inputClass =
  "w-full rounded-md border border-line-strong bg-raised px-3 text-base text-ink placeholder:text-faint " +
  "max-md:text-lg focus-visible:outline-offset-0 aria-invalid:border-danger";

type LabelProps = MemberProps & {
  label: string;
  hint?: ReactNode;
  className?: string | undefined;
};

type DescribedBy = { id: string; "aria-invalid": true | undefined; "aria-describedby": string | undefined };

/** A label above an input; below it, the hint and the error of the field. */
function LabelledInput({
  label,
  hint,
  className,
  children,
  ...about
}: LabelProps & { children: (described: DescribedBy) => ReactNode }) {
  const id = useId();
  const error = useFieldError(about, label);
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

/** The props of a field's label, and those of its input. */
function split<Input>({ label, hint, member, subject, error, className, ...input }: LabelProps & Input) {
  return [
    { label, hint, member, error, ...(subject && { subject }), ...(className && { className }) },
    input,
  ] as const;
}

export function Field(props: LabelProps & ComponentProps<"input">) {
  const [label, input] = split(props);
  return (
    <LabelledInput {...label}>
      {(described) => <input {...input} {...described} className={clsx(inputClass, "h-9 max-md:h-11")} />}
    </LabelledInput>
  );
}

/** A `Field` with several lines. */
export function TextField(props: LabelProps & ComponentProps<"textarea">) {
  const [label, input] = split(props);
  return (
    <LabelledInput {...label}>
      {(described) => (
        <textarea {...input} {...described} className={clsx(inputClass, "resize-y py-2 leading-5")} />
      )}
    </LabelledInput>
  );
}

/** A `Field` with a list of choices: `option` elements. */
export function SelectField(props: LabelProps & ComponentProps<"select">) {
  const [label, input] = split(props);
  return (
    <LabelledInput {...label}>
      {(described) => (
        <select {...input} {...described} className={clsx(inputClass, "h-9 pr-8 max-md:h-11")} />
      )}
    </LabelledInput>
  );
}

type ChoicesProps = MemberProps & { label: string; className?: string; children: ReactNode };

/** A group of radio buttons or checkboxes. */
export function Choices({ label, className, children, ...about }: ChoicesProps) {
  const error = useFieldError(about, label);
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
