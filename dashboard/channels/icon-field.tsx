import { limits } from "../../server/core/limits.ts";
import { Field } from "../components/ui/field.tsx";

const emoji: [string, string][] = [
  ["💰", "Money bag"],
  ["💳", "Card"],
  ["🛒", "Cart"],
  ["🔑", "Key"],
  ["👋", "Waving hand"],
  ["👤", "Person"],
  ["🚀", "Rocket"],
  ["🐛", "Bug"],
  ["🔥", "Fire"],
  ["⚠️", "Warning"],
  ["✅", "Check mark"],
  ["📦", "Parcel"],
  ["📬", "Mailbox"],
  ["💾", "Disk"],
  ["🤖", "Robot"],
  ["⭐", "Star"],
];

type IconFieldProps = { icon: string; onChange: (icon: string) => void };

/** A channel's icon: typed, or picked from a few emoji. */
export function IconField({ icon, onChange }: IconFieldProps) {
  return (
    <div className="flex flex-col gap-2">
      <Field
        label="Icon"
        value={icon}
        onChange={(event) => onChange(event.target.value)}
        maxLength={limits.iconCharacters}
        autoComplete="off"
        placeholder="An emoji"
        member="icon"
      />
      <fieldset className="grid grid-cols-8 gap-1">
        <legend className="sr-only">Choose an emoji</legend>
        {emoji.map(([character, label]) => (
          <button
            key={character}
            type="button"
            aria-label={label}
            aria-pressed={icon === character}
            onClick={() => onChange(icon === character ? "" : character)}
            className="flex h-9 items-center justify-center rounded-md text-lg hover:bg-hover aria-pressed:bg-accent-soft aria-pressed:ring-1 aria-pressed:ring-accent"
          >
            {character}
          </button>
        ))}
      </fieldset>
    </div>
  );
}
