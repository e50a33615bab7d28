import { type NavigateOptions, useRouter } from "@tanstack/react-router";
import { type ComponentProps, type MouseEvent, useMemo } from "react";

type RowLinkProps = Omit<ComponentProps<"a">, "href"> & Pick<NavigateOptions, "to" | "params" | "search">;

/**
 * A link in a row of a long list. Unlike the router's `Link`, it doesn't follow the page's address, so a hundred of them
 * cost next to nothing when a page is opened or a list scrolls.
 */
export function RowLink({ to, params, search, onClick, ...rest }: RowLinkProps) {
  const router = useRouter();
  const key = JSON.stringify([to, params, search]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key stands for the target
  const href = useMemo(
    () => router.buildLocation({ to, params, search } as NavigateOptions).href,
    [router, key],
  );

  function open(click: MouseEvent<HTMLAnchorElement>) {
    onClick?.(click);
    const opensElsewhere = click.metaKey || click.ctrlKey || click.shiftKey || click.altKey;
    if (click.defaultPrevented || opensElsewhere || click.button !== 0) return;
    click.preventDefault();
    void router.navigate({ to, params, search } as NavigateOptions);
  }

  return <a {...rest} href={href} onClick={open} />;
}
