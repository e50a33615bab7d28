import { type ComponentType, type ReactNode, Suspense, useState } from "react";
import { errorMessage } from "../../api.ts";
import { toast } from "../../shell/toasts.tsx";
import { ErrorBoundary } from "../error-boundary.tsx";

export type MenuContentProps = { trigger: ReactNode; defaultOpen: boolean };

type LazyMenuProps<Extra extends object> = {
  menu: ComponentType<MenuContentProps & Extra>;
  /** Further props of the menu. */
  props?: Extra;
  className: string;
  label?: string;
  /** -1 if something else than Tab leads to it. */
  tabIndex?: number;
  children: ReactNode;
};

/** A button whose menu is loaded on the first click, to keep menus out of the first load. */
export function LazyMenu<Extra extends object>({
  menu: Content,
  props,
  className,
  label,
  tabIndex,
  children,
}: LazyMenuProps<Extra>) {
  const [opened, setOpened] = useState(false);
  const button = (own: { onClick?: () => void }) => (
    <button
      type="button"
      aria-label={label}
      aria-haspopup="menu"
      className={className}
      tabIndex={tabIndex}
      {...own}
    >
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
        <Content {...(props as Extra)} defaultOpen trigger={button({})} />
      </Suspense>
    </ErrorBoundary>
  );
}
