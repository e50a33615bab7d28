import { queryOptions } from "@tanstack/react-query";
import { clsx } from "clsx";
import type { Key } from "../../server/wire/key.ts";
import { api } from "../api.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { Button } from "../components/ui/button.tsx";

type KeyTableProps = { keys: Key[]; revoke: (key: Key) => void };

/** Active keys first. On phones each row is a small card, because five columns don't fit. */
export function KeyTable({ keys, revoke }: KeyTableProps) {
  const sorted = keys.toSorted(
    (a, b) =>
      Number(a.revokedAt !== null) - Number(b.revokedAt !== null) || (a.createdAt < b.createdAt ? 1 : -1),
  );
  return (
    <div className="overflow-hidden rounded-lg border border-line bg-raised">
      <table className="w-full text-sm max-md:block">
        <thead className="border-line border-b text-left text-muted text-xs max-md:sr-only">
          <tr className="[&>th]:h-9 [&>th]:px-4 [&>th]:font-medium">
            <th scope="col">Name</th>
            <th scope="col">Key</th>
            <th scope="col">Created</th>
            <th scope="col">Last used</th>
            <th scope="col">
              <span className="sr-only">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody className="max-md:block">
          {sorted.map((key) => (
            <tr
              key={key.id}
              className={clsx(
                "border-line border-b last:border-b-0 max-md:grid max-md:grid-cols-[1fr_auto] max-md:gap-x-3 max-md:p-4",
                "md:h-13 md:[&>*]:px-4",
                key.revokedAt !== null && "text-muted",
              )}
            >
              <th
                scope="row"
                className={clsx(
                  "hostile text-left font-medium md:max-w-56",
                  key.revokedAt !== null && "line-through decoration-line-strong",
                )}
              >
                {key.name}
              </th>
              <td className="font-mono text-muted text-xs max-md:col-start-1">tdg_sk_…{key.ending}</td>
              <td className="text-muted max-md:col-start-1 max-md:mt-1">
                <span className="md:hidden">Created </span>
                <RelativeTime at={key.createdAt} form="long" />
              </td>
              <td className="text-muted max-md:col-start-1">
                {key.lastUsedAt ? (
                  <>
                    <span className="md:hidden">Used </span>
                    <RelativeTime at={key.lastUsedAt} form="long" />
                  </>
                ) : (
                  "Never used"
                )}
              </td>
              <td className="text-right max-md:col-start-2 max-md:row-span-4 max-md:row-start-1">
                {key.revokedAt === null ? (
                  <Button variant="danger" onClick={() => revoke(key)}>
                    Revoke
                  </Button>
                ) : (
                  <span className="text-xs">
                    Revoked <RelativeTime at={key.revokedAt} form="long" />
                  </span>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function keysQuery(project: string) {
  return queryOptions({
    queryKey: ["keys", project],
    queryFn: async () => (await api<{ ok: true; keys: Key[] }>("/api/keys", { query: { project } })).keys,
  });
}
