import { type ComponentType, type ReactNode, Suspense, useState } from "react";
import { errorMessage } from "../../api.ts";
import { toast } from "../../shell/toasts.tsx";
import { ErrorBoundary } from "../error-boundary.tsx";

export type MenuContentProps = { trigger: ReactNode; defaultOpen: boolean };

type LazyMenuProps = {
  menu: ComponentType<MenuContentProps>;
  className: string;
  label?: string;
  children: ReactNode;
};

/** A button whose menu is loaded on the first click, to keep menus out of the first load. */
export function LazyMenu({ menu: Content, className, label, children }: LazyMenuProps) {
  const [opened, setOpened] = useState(false);
  const button = (props: { onClick?: () => void }) => (
    <button type="button" aria-label={label} aria-haspopup="menu" className={className} {...props}>
      {children}
    </button>
  );
  if (!opened) return button({ onClick: () => setOpened(true) });
  return (
    <ErrorBoundary
      fallback={(_, retry) => button({ onClick: retry })}
      onError={(error) =>
        toast({ title: "The menu couldn't be opened", description: errorMessage(error), failed: true })
      }
    >
      <Suspense fallback={button({})}>
        <Content defaultOpen trigger={button({})} />
      </Suspense>
    </ErrorBoundary>
  );
}
