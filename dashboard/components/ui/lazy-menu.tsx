import { type ComponentType, type LazyExoticComponent, type ReactNode, Suspense, useState } from "react";

export type MenuContentProps = { trigger: ReactNode; defaultOpen: boolean };

type LazyMenuProps = {
  menu: LazyExoticComponent<ComponentType<MenuContentProps>>;
  className: string;
  label?: string;
  children: ReactNode;
};

/** A button whose menu is loaded when it is first pressed, so that the first page does not wait for menus. */
export function LazyMenu({ menu: Content, className, label, children }: LazyMenuProps) {
  const [wanted, setWanted] = useState(false);
  const button = (props: { onClick?: () => void }) => (
    <button type="button" aria-label={label} aria-haspopup="menu" className={className} {...props}>
      {children}
    </button>
  );
  if (!wanted) return button({ onClick: () => setWanted(true) });
  return (
    <Suspense fallback={button({})}>
      <Content defaultOpen trigger={button({})} />
    </Suspense>
  );
}
