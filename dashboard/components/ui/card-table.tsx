import { clsx } from "clsx";
import type { ReactNode } from "react";

type CardTableProps = {
  /** The columns' names. The first one is the row's. */
  columns: readonly string[];
  /** Whether the last column has the rows' actions. */
  hasActions: boolean;
  children: ReactNode;
};

/** A table that is a list of cards where its columns don't fit. Its rows are `CardRow`s, and can use the widths of its container. */
export function CardTable({ columns, hasActions, children }: CardTableProps) {
  return (
    <div className="@container overflow-hidden rounded-lg border border-line bg-raised">
      <table className="w-full text-sm @max-2xl:block">
        <thead className="border-line border-b text-left text-muted text-xs @max-2xl:sr-only">
          <tr className="@2xl:[&>th:first-child]:w-[32%] [&>th]:h-9 [&>th]:px-4 [&>th]:font-medium">
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
            {hasActions && (
              <th scope="col">
                <span className="sr-only">Actions</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody className="@max-2xl:block">{children}</tbody>
      </table>
    </div>
  );
}

export function CardRow({ className, children }: { className?: string; children: ReactNode }) {
  return (
    <tr
      className={clsx(
        "border-line border-b align-top last:border-b-0 @max-2xl:relative @max-2xl:grid @max-2xl:gap-y-1 @max-2xl:p-4 @max-2xl:pr-14",
        "@2xl:[&>*]:px-4 @2xl:[&>*]:py-2.5",
        className,
      )}
    >
      {children}
    </tr>
  );
}

/** The cell with a row's actions: a `RowMenu`. On narrow screens it is at the card's corner. */
export function RowActions({ children }: { children: ReactNode }) {
  return (
    <td className="@max-2xl:absolute @max-2xl:top-2 @max-2xl:right-2">
      <div className="flex justify-end @2xl:-my-1">{children}</div>
    </td>
  );
}
