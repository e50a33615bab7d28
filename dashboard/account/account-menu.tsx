import { useNavigate } from "@tanstack/react-router";
import {
  Activity,
  BookOpen,
  Check,
  CircleHelp,
  LogOut,
  type LucideIcon,
  Monitor,
  Moon,
  Sun,
  UserRound,
} from "lucide-react";
import type { MenuContentProps } from "../components/ui/lazy-menu.tsx";
import { Menu, MenuItem, MenuLabel, MenuSeparator } from "../components/ui/menu.tsx";
import { openDocs } from "../shell/docs.ts";
import { openOverlay } from "../shell/overlays.tsx";
import { chooseTheme, type Theme, themes, useTheme } from "../theme/theme.ts";
import { useMe } from "./me.ts";
import { useSignOut } from "./sign-out.ts";

const themeIcons: Record<Theme, LucideIcon> = { light: Sun, dark: Moon, system: Monitor };

export default function AccountMenu(props: MenuContentProps) {
  const { account, ownsInstallation } = useMe();
  const navigate = useNavigate();
  const signOut = useSignOut();
  const current = useTheme();
  return (
    <Menu {...props} side="top">
      <MenuLabel>
        <span className="hostile-line block">{account.email}</span>
      </MenuLabel>
      <MenuItem onSelect={() => void navigate({ to: "/account" })}>
        <UserRound aria-hidden />
        My settings
      </MenuItem>
      {ownsInstallation && (
        <MenuItem onSelect={() => void navigate({ to: "/status" })}>
          <Activity aria-hidden />
          Server status
        </MenuItem>
      )}
      <MenuItem onSelect={() => openOverlay("help")}>
        <CircleHelp aria-hidden />
        Keyboard shortcuts
      </MenuItem>
      <MenuItem onSelect={() => openDocs()}>
        <BookOpen aria-hidden />
        Docs
      </MenuItem>
      <MenuSeparator />
      <MenuLabel>Theme</MenuLabel>
      {themes.map((theme) => {
        const Icon = themeIcons[theme];
        return (
          <MenuItem key={theme} onSelect={() => chooseTheme(theme)}>
            <Icon aria-hidden />
            <span className="flex-1 capitalize">{theme}</span>
            {theme === current && <Check aria-label="In use" />}
          </MenuItem>
        );
      })}
      <MenuSeparator />
      <MenuItem onSelect={() => void signOut()}>
        <LogOut aria-hidden />
        Sign out
      </MenuItem>
    </Menu>
  );
}
