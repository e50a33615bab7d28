import { clsx } from "clsx";
import {
  Bell,
  CircleAlert,
  CreditCard,
  Database,
  LogIn,
  type LucideIcon,
  Mail,
  Rocket,
  Server,
  Shield,
  ShoppingCart,
  Trash,
  UserRound,
} from "lucide-react";

/** For icons that are file names, such as `credit-card.png`: we don't have the file, but the name suggests an icon. */
const iconsByName: [RegExp, LucideIcon][] = [
  [/card|pay|money|invoice|billing/, CreditCard],
  [/cart|order|shop|basket/, ShoppingCart],
  [/log-?in|sign-?in|door/, LogIn],
  [/user|person|account|member/, UserRound],
  [/alert|error|warn|fail|bug/, CircleAlert],
  [/mail|message|inbox/, Mail],
  [/rocket|deploy|launch|release/, Rocket],
  [/database|backup|disk/, Database],
  [/server|host|cloud/, Server],
  [/shield|lock|security/, Shield],
  [/trash|delete|bin/, Trash],
  [/bell|notif/, Bell],
];

const pictographic = /\p{Extended_Pictographic}|\p{Regional_Indicator}/u;
const segments = new Intl.Segmenter();

function initials(name: string): string {
  const words = name.split(/[\s\-_.:/]+/u).filter(Boolean);
  return words
    .slice(0, 2)
    .map((word) => segments.segment(word)[Symbol.iterator]().next().value?.segment ?? "")
    .join("")
    .toUpperCase();
}

const sizes = {
  sm: "size-5 rounded text-sm",
  md: "size-8 rounded-lg text-lg",
  lg: "size-11 rounded-xl text-xl",
} as const;

type EventIconProps = { icon: string | undefined; name: string; size?: keyof typeof sizes; bare?: boolean };

/** An emoji as it is, an icon that fits a file name, or else the event's initials. */
export function EventIcon({ icon, name, size = "md", bare = false }: EventIconProps) {
  return (
    <span
      aria-hidden
      className={clsx(
        "flex shrink-0 select-none items-center justify-center overflow-hidden leading-none",
        sizes[size],
        !bare && "border border-line bg-hover",
      )}
    >
      <Picture icon={icon} name={name} small={size === "sm"} />
    </span>
  );
}

function Picture({ icon, name, small }: { icon: string | undefined; name: string; small: boolean }) {
  if (icon && pictographic.test(icon)) {
    const first = segments.segment(icon.trim())[Symbol.iterator]().next().value?.segment;
    return <span>{first}</span>;
  }
  const Icon = icon && iconsByName.find(([pattern]) => pattern.test(icon.toLowerCase()))?.[1];
  if (Icon) return <Icon className={clsx("text-muted", small ? "size-3.5" : "size-[45%]")} />;
  return (
    <span className={clsx("font-semibold text-muted", small ? "text-[10px]" : "text-[0.72em]")}>
      {initials(name) || "•"}
    </span>
  );
}
