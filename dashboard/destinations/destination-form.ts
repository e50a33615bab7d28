import type { FormField, ProjectDestination } from "../../server/schemas/destination.ts";
import { orNone, type Part, part } from "../edits/differences.ts";
import { type Entered, enteredOf } from "./destination-fields.tsx";
import type { DestinationKind } from "./project-destinations.ts";

/** The fields of a destination. */
export type DestinationForm = {
  name: string;
  entered: Entered;
  /** Empty is no limit. */
  hourlyLimit: string;
  /** The last characters of the secrets that are set. */
  secrets: ProjectDestination["secrets"];
  /** The destination's version; empty for a new one. */
  version: string;
  /** The ids of rules that are to notify it; only of a new one. */
  rules: string[];
};

export function newForm({ fields }: DestinationKind): DestinationForm {
  return { name: "", entered: enteredOf(fields), hourlyLimit: "", secrets: {}, version: "", rules: [] };
}

export function formOf({ fields }: DestinationKind, destination: ProjectDestination): DestinationForm {
  const { name, secrets, version, hourlyLimit } = destination;
  return {
    name,
    entered: enteredOf(fields, destination),
    hourlyLimit: hourlyLimit === null ? "" : String(hourlyLimit),
    secrets,
    version,
    rules: [],
  };
}

/** The parts of a destination, for when two people have changed it. */
export function destinationParts({ fields }: DestinationKind): Part<DestinationForm>[] {
  return [
    part("Name", ["name"], ({ name }) => name),
    ...fields.map(partOf),
    part("Messages in an hour", ["hourlyLimit"], ({ hourlyLimit }) => hourlyLimit || "No limit"),
  ];
}

export function hourlyLimitOf({ hourlyLimit }: DestinationForm): number | null {
  return hourlyLimit.trim() === "" ? null : Number(hourlyLimit);
}

function partOf(field: FormField): Part<DestinationForm> {
  const { name, title, secret } = field;
  const value = ({ entered }: DestinationForm) => entered[name];
  const common: Part<DestinationForm> = {
    label: title,
    value,
    text: (form) =>
      typeof value(form) === "boolean" ? (value(form) ? "Yes" : "No") : orNone(String(value(form) ?? "")),
    take: (mine, theirs) => ({
      ...mine,
      entered: { ...mine.entered, [name]: theirs.entered[name] ?? "" },
      secrets: theirs.secrets,
      version: theirs.version,
    }),
  };
  return secret ? { ...common, ...secretPart(name) } : common;
}

/** A secret isn't shown. Its ending tells it from another one or, if it is short, the version does. */
function secretPart(name: string): Pick<Part<DestinationForm>, "text" | "changedBy"> {
  const savedOf = ({ secrets, version }: DestinationForm) =>
    secrets[name] === undefined ? null : secrets[name] || version;
  return {
    text({ entered, secrets }) {
      if (entered[name]) return "The one that you entered";
      if (secrets[name] === undefined) return "None";
      return secrets[name] ? `Ends in …${secrets[name]}` : "The one that is saved";
    },
    changedBy(base, mine, theirs) {
      if (!mine.entered[name]) return null;
      return savedOf(base) === savedOf(theirs) ? "mine" : "both";
    },
  };
}
