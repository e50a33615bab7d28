import { queryOptions } from "@tanstack/react-query";
import { clsx } from "clsx";
import { Ban, Pencil, RefreshCw, Signature } from "lucide-react";
import type { Scope } from "../../server/core/permissions.ts";
import type { Key } from "../../server/schemas/key.ts";
import { api } from "../api.ts";
import { formatDate } from "../components/dates.ts";
import { formatNumber } from "../components/locale.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { CardRow, CardTable, RowActions } from "../components/ui/card-table.tsx";
import { RowMenu } from "../components/ui/row-menu.tsx";
import { scopeLabels } from "./key-settings.ts";

type KeyTableProps = {
  keys: Key[];
  edit: (key: Key) => void;
  rotate: (key: Key) => void;
  sign: (key: Key) => void;
  revoke: (key: Key) => void;
};

/** Active keys first. On narrow screens each row is a small card, because five columns don't fit. */
export function KeyTable({ keys, ...actions }: KeyTableProps) {
  const now = Date.now();
  const sorted = keys.toSorted(
    (a, b) => Number(hasEnded(a, now)) - Number(hasEnded(b, now)) || (a.createdAt < b.createdAt ? 1 : -1),
  );
  return (
    <CardTable columns={["Name", "Access", "Expires", "Last used"]} hasActions>
      {sorted.map((key) => (
        <KeyRow key={key.id} apiKey={key} hasEnded={hasEnded(key, now)} {...actions} />
      ))}
    </CardTable>
  );
}

type KeyRowProps = Omit<KeyTableProps, "keys"> & { apiKey: Key; hasEnded: boolean };

function KeyRow({ apiKey: key, hasEnded, edit, rotate, sign, revoke }: KeyRowProps) {
  const isRevoked = key.revokedAt !== null;
  return (
    <CardRow className={clsx(hasEnded && "text-muted")}>
      <th scope="row" className="min-w-0 text-left font-medium">
        <span className={clsx("hostile", isRevoked && "line-through decoration-line-strong")}>
          {key.name}
        </span>
        <span className="block font-normal text-muted text-xs">
          <code className="whitespace-nowrap font-mono">
            {key.kind === "secret" ? "tdg_sk" : "tdg_pk"}_…{key.ending}
          </code>
          {" · "}
          created <RelativeTime at={key.createdAt} form="long" />
        </span>
      </th>
      <td className="min-w-0 text-muted @2xl:max-w-52">
        {key.kind === "secret" ? (
          scopesText(key.scopes)
        ) : (
          <>
            Send only
            <span className="hostile block text-xs" title={key.origins.join("\n")}>
              {originsText(key.origins)}
            </span>
          </>
        )}
        {key.eventsPerSecond !== null && (
          <span className="block text-xs">{formatNumber(key.eventsPerSecond)} events a second</span>
        )}
      </td>
      <td className="text-muted">
        <Expiry apiKey={key} />
      </td>
      <td className="text-muted @2xl:whitespace-nowrap">
        {key.lastUsedAt ? (
          <>
            <span className="@2xl:hidden">Used </span>
            <RelativeTime at={key.lastUsedAt} form="long" />
            {key.lastUsedAddress && (
              <span className="block break-all font-mono text-xs @max-2xl:ml-1.5 @max-2xl:inline-block @2xl:max-w-40 @2xl:whitespace-normal">
                {key.lastUsedAddress}
              </span>
            )}
          </>
        ) : (
          "Never used"
        )}
      </td>
      <RowActions>
        {!isRevoked && (
          <RowMenu
            name={key.name}
            actions={[
              { label: "Edit…", icon: Pencil, onSelect: () => edit(key) },
              key.kind === "publishable" && {
                label: "Secret for signatures…",
                icon: Signature,
                onSelect: () => sign(key),
              },
              key.replacedBy === null && { label: "Rotate…", icon: RefreshCw, onSelect: () => rotate(key) },
              { label: "Revoke…", icon: Ban, danger: true, onSelect: () => revoke(key) },
            ]}
          />
        )}
      </RowActions>
    </CardRow>
  );
}

/** Until when a key works, or since when it doesn't. */
function Expiry({ apiKey: { revokedAt, expiresAt, replacedBy } }: { apiKey: Key }) {
  if (revokedAt !== null) {
    return (
      <>
        Revoked <RelativeTime at={revokedAt} form="long" />
      </>
    );
  }
  if (expiresAt === null) {
    return (
      <>
        <span className="@max-2xl:hidden">Never</span>
        <span className="@2xl:hidden">Never expires</span>
      </>
    );
  }
  const ms = Date.parse(expiresAt) - Date.now();
  if (ms <= 0) {
    return (
      <>
        {replacedBy === null ? "Expired" : "Rotated, expired"} <RelativeTime at={expiresAt} form="long" />
      </>
    );
  }
  const text = formatDate(expiresAt, ms < soonMs ? "medium" : "dayOfYear");
  return (
    <>
      {replacedBy === null ? <span className="@2xl:hidden">Expires </span> : "Rotated, works until "}
      <time
        dateTime={expiresAt}
        title={formatDate(expiresAt, "exact")}
        className={clsx("whitespace-nowrap", ms < soonMs && "text-ink")}
      >
        {text}
      </time>
    </>
  );
}

/** Shorter than this, an expiry is shown with its time. */
const soonMs = 8 * 86_400_000;

function hasEnded({ revokedAt, expiresAt }: Key, now: number): boolean {
  return revokedAt !== null || (expiresAt !== null && Date.parse(expiresAt) <= now);
}

function scopesText(scopes: Scope[]): string {
  const text = scopes.map((scope) => scopeLabels[scope].label.toLowerCase()).join(", ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function originsText([first, ...others]: string[]): string {
  if (first === undefined) return "from all pages";
  return `from ${first.replace(/^https:\/\//, "")}${others.length > 0 ? ` and ${others.length} more` : ""}`;
}

export function keysQuery(project: string) {
  return queryOptions({
    queryKey: ["keys", project],
    queryFn: async () => (await api<{ ok: true; keys: Key[] }>("/api/keys", { query: { project } })).keys,
  });
}
