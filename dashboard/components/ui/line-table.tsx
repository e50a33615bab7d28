import { clsx } from "clsx";
import type { ReactNode } from "react";

type LineTableProps = {
  /** The cells of the head. */
  head: ReactNode;
  /** What it shows is being read again. */
  faded?: boolean;
  /** `LineRow`s. */
  children: ReactNode;
};

/** A table of things that have pages, a line each. On narrow screens each is a small card. */
export function LineTable({ head, faded = false, children }: LineTableProps) {
  return (
    <div className="@container">
      <table className={clsx("w-full text-sm @max-xl:block @xl:table-fixed", faded && "opacity-60")}>
        <thead className="text-left text-muted text-xs @max-xl:sr-only">
          <tr className="[&>th]:h-9 [&>th]:border-line [&>th]:border-b [&>th]:px-2.5 [&>th]:font-medium [&>th:first-child]:pl-5 [&>th:last-child]:pr-5">
            {head}
          </tr>
        </thead>
        <tbody className="@max-xl:block">{children}</tbody>
      </table>
    </div>
  );
}

/** A row, whose first cell is a `LineName`. */
export function LineRow({ children }: { children: ReactNode }) {
  return (
    <tr
      className={clsx(
        "relative border-line border-b hover:bg-hover",
        "@max-xl:grid @max-xl:grid-cols-[1fr_auto] @max-xl:gap-x-3 @max-xl:px-4 @max-xl:py-2.5",
        "@xl:h-10 @xl:[&>*:first-child]:pl-5 @xl:[&>*:last-child]:pr-5 @xl:[&>*]:px-2.5",
      )}
    >
      {children}
    </tr>
  );
}

export function LineName({ children }: { children: ReactNode }) {
  return (
    <th scope="row" className="min-w-0 text-left font-medium">
      {children}
    </th>
  );
}

/** Of the link in a `LineName`: the whole row leads where it does. */
export const lineLink =
  "hostile-line block after:absolute after:inset-0 after:content-[''] focus-visible:outline-none focus-visible:after:outline-2 focus-visible:after:outline-accent focus-visible:after:-outline-offset-2";
