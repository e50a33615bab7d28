import type { ReactNode } from "react";

type GroupProps = { title: string; lead?: ReactNode; children: ReactNode };

export function Group({ title, lead, children }: GroupProps) {
  return (
    <section aria-label={title} className="flex flex-col gap-3">
      <div>
        <h2 className="font-semibold text-lg">{title}</h2>
        {lead && <p className="hostile text-muted text-sm">{lead}</p>}
      </div>
      {children}
    </section>
  );
}

export function Panel({ children }: { children: ReactNode }) {
  return (
    <div className="divide-y divide-line overflow-hidden rounded-lg border border-line bg-raised">
      {children}
    </div>
  );
}
