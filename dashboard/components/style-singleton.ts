import { useEffect } from "react";

/**
 * Replaces the package react-style-singleton, with which Radix's dialogs and menus keep the page from scrolling. The
 * package adds `style` elements, which the content security policy forbids; constructed style sheets are allowed.
 */
export function styleHookSingleton() {
  let users = 0;
  const sheet = new CSSStyleSheet();
  return (styles: string, isDynamic?: boolean) => {
    // biome-ignore lint/correctness/useExhaustiveDependencies: as in the package, only dynamic styles change.
    useEffect(() => {
      if (users++ === 0) {
        sheet.replaceSync(styles);
        document.adoptedStyleSheets.push(sheet);
      }
      return () => {
        if (--users > 0) return;
        document.adoptedStyleSheets = document.adoptedStyleSheets.filter((other) => other !== sheet);
      };
    }, [styles && isDynamic]);
  };
}

export function styleSingleton() {
  const useStyle = styleHookSingleton();
  // Called once for each component, as in the package.
  return function Styles({ styles, dynamic }: { styles: string; dynamic?: boolean }) {
    useStyle(styles, dynamic);
    return null;
  };
}
