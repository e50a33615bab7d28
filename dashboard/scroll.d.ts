/**
 * Scrolling returns a promise that is fulfilled when it has ended (CSSOM View, in Chromium since 150), and TypeScript
 * doesn't say so yet. With these, an effect that returns it is an error.
 */

interface Element {
  scroll(options?: ScrollToOptions): Promise<void>;
  scroll(x: number, y: number): Promise<void>;
  scrollBy(options?: ScrollToOptions): Promise<void>;
  scrollBy(x: number, y: number): Promise<void>;
  scrollIntoView(options?: boolean | ScrollIntoViewOptions): Promise<void>;
  scrollTo(options?: ScrollToOptions): Promise<void>;
  scrollTo(x: number, y: number): Promise<void>;
}

interface Window {
  scroll(options?: ScrollToOptions): Promise<void>;
  scroll(x: number, y: number): Promise<void>;
  scrollBy(options?: ScrollToOptions): Promise<void>;
  scrollBy(x: number, y: number): Promise<void>;
  scrollTo(options?: ScrollToOptions): Promise<void>;
  scrollTo(x: number, y: number): Promise<void>;
}
