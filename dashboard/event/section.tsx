import type { ReactNode } from "react";

export function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section aria-label={title} className="border-line border-t px-4 py-4 md:px-5">
      <h2 className="mb-2.5 font-semibold text-sm">{title}</h2>
      {children}
    </section>
  );
}
