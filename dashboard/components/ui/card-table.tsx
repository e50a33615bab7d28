import { clsx } from "clsx";
import type { ReactNode } from "react";

type CardTableProps = {
  /** The columns' names. The first one is the row's. */
  columns: readonly string[];
  /** Whether the last column has the rows' actions. */
  hasActions: boolean;
  children: ReactNode;
};

/** A table that is a list of cards on narrow screens, where its columns don't fit. Its rows are `CardRow`s. */
export function CardTable({ columns, hasActions, children }: CardTableProps) {
  return (
    <div className="overflow-hidden rounded-lg border border-line bg-raised">
      <table className="w-full text-sm max-lg:block">
        <thead className="border-line border-b text-left text-muted text-xs max-lg:sr-only">
          <tr className="[&>th:first-child]:lg:w-[32%] [&>th]:h-9 [&>th]:px-4 [&>th]:font-medium">
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
        <tbody className="max-lg:block">{children}</tbody>
      </table>
    </div>
  );
}

export function CardRow({ className, children }: { className?: string; children: ReactNode }) {
  return (
    <tr
      className={clsx(
        "border-line border-b align-top last:border-b-0 max-lg:relative max-lg:grid max-lg:gap-y-1 max-lg:p-4 max-lg:pr-14",
        "lg:[&>*]:px-4 lg:[&>*]:py-2.5",
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
    <td className="max-lg:absolute max-lg:top-2 max-lg:right-2">
      <div className="flex justify-end lg:-my-1">{children}</div>
    </td>
  );
}
