// Differences between three states of a form: before editing, one's own, and the one that somebody else has saved.

export type Choice = "mine" | "theirs" | "both";
/** The version to keep of each difference, by the difference's key. */
export type Choices = Record<string, Choice>;

export type Difference = {
  key: string;
  label: string;
  changedBy: "mine" | "theirs" | "both";
  /** The three states, for people. */
  before: string;
  mine: string;
  theirs: string;
  /** Whether both can be kept side by side. */
  allowsBoth?: boolean;
};

/** Compares and merges two states of a form. */
export type Comparison<Form> = {
  differences: (base: Form, mine: Form, theirs: Form) => Difference[];
  /** Has a choice for each difference. */
  merge: (mine: Form, theirs: Form, choices: Choices) => Form;
};

/** A part of a form that is kept or replaced as a whole. */
export type Part<Form> = {
  label: string;
  /** The value to compare. */
  value: (form: Form) => unknown;
  /** The value for people. */
  text: (form: Form) => string;
  /** One's own form, with this part of the other one. */
  take: (mine: Form, theirs: Form) => Form;
  /** Tells who changed it, if comparing values doesn't; null if there is nothing to choose. */
  changedBy?: (base: Form, mine: Form, theirs: Form) => Difference["changedBy"] | null;
};

/** A part that consists of fields of the form. */
export function part<Form extends object>(
  label: string,
  fields: readonly (keyof Form)[],
  text: (form: Form) => string,
): Part<Form> {
  const pick = (form: Form) => Object.fromEntries(fields.map((field) => [field, form[field]]));
  return { label, text, value: pick, take: (mine, theirs) => ({ ...mine, ...pick(theirs) }) };
}

export function byParts<Form>(parts: readonly Part<Form>[]): Comparison<Form> {
  return {
    differences: (...forms) =>
      parts.flatMap(({ label, value, text, changedBy }) => {
        const by = changedBy ? changedBy(...forms) : whoChanged(...mapAll(forms, value));
        if (by === null) return [];
        const [before, mine, theirs] = mapAll(forms, text);
        return [{ key: label, label, changedBy: by, before, mine, theirs }];
      }),
    merge: (mine, theirs, choices) =>
      parts.reduce(
        (merged, { label, take }) => (choices[label] === "theirs" ? take(merged, theirs) : merged),
        mine,
      ),
  };
}

function mapAll<Form, Value>(forms: [Form, Form, Form], map: (form: Form) => Value): [Value, Value, Value] {
  return forms.map(map) as [Value, Value, Value];
}

/** Tells who changed a value; null if both have the same now. */
export function whoChanged(base: unknown, mine: unknown, theirs: unknown): Difference["changedBy"] | null {
  if (isSame(mine, theirs)) return null;
  if (isSame(mine, base)) return "theirs";
  return isSame(theirs, base) ? "mine" : "both";
}

/** Whether two values are the same as JSON. */
export function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** The default choices: changes that only one of the two people has made are kept. */
export function choicesOf(differences: readonly Difference[]): Choices {
  return Object.fromEntries(
    differences.flatMap(({ key, changedBy }) => (changedBy === "both" ? [] : [[key, changedBy]])),
  );
}

/** The members of a request that differ from what editing began with. */
export function changedMembers<Body extends object>(body: Body, before: Body): Partial<Body> {
  return Object.fromEntries(
    Object.entries(body).filter(([name, value]) => !isSame(value, before[name as keyof Body])),
  ) as Partial<Body>;
}

/** A value that a form shows as text. */
export function orNone(text: string | null | undefined, none = "None"): string {
  return text?.trim() ? text : none;
}
