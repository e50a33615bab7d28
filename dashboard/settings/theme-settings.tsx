import { Monitor, Moon, Sun } from "lucide-react";
import { chooseTheme, themes, useTheme } from "../theme/theme.ts";

const icons = { light: Sun, dark: Moon, system: Monitor };

export function ThemeSettings() {
  const current = useTheme();
  return (
    <fieldset className="flex w-fit rounded-lg border border-line bg-canvas p-1">
      <legend className="sr-only">Theme</legend>
      {themes.map((theme) => {
        const Icon = icons[theme];
        return (
          <label
            key={theme}
            className="flex h-8 cursor-pointer items-center gap-2 rounded-md px-3 text-muted text-sm hover:text-ink has-focus-visible:outline-2 has-focus-visible:outline-accent has-checked:bg-raised has-checked:font-medium has-checked:text-ink has-checked:ring-1 has-checked:ring-line-strong max-md:h-10"
          >
            <input
              type="radio"
              name="theme"
              value={theme}
              checked={theme === current}
              onChange={() => chooseTheme(theme)}
              className="sr-only"
            />
            <Icon aria-hidden className="size-4" />
            <span className="capitalize">{theme}</span>
          </label>
        );
      })}
    </fieldset>
  );
}
