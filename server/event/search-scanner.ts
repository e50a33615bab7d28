/** Replaces a part of a search, from a position to before another one, counted from 0. */
type Correction = { from: number; to: number; text: string };

/** A syntax error and its position. Columns count UTF-16 code units from 1, like text fields in browsers. */
export class SearchError extends Error {
  readonly column: number;
  /** The whole search as it was probably meant; null if that can't be told. */
  readonly corrected: string | null;

  constructor(column: number, message: string, corrected: string | null) {
    super(message);
    this.name = "SearchError";
    this.column = column;
    this.corrected = corrected;
  }
}

/** Reads the parts of a search from left to right. */
export class SearchScanner {
  protected readonly q: string;
  protected at = 0;
  readonly #parse: (q: string) => unknown;

  /** @param parse - throws if a corrected search is invalid */
  constructor(q: string, parse: (q: string) => unknown) {
    this.q = q;
    this.#parse = parse;
  }

  protected text(bare: RegExp): string {
    if (this.next === '"') return this.quoted();
    const text = this.take(bare);
    if (text !== "") return text;
    if (this.isAtEnd || /\s/.test(this.next)) {
      throw this.error('A value is missing here. Add it without a space, or use "" for an empty value.');
    }
    throw this.misplaced();
  }

  private quoted(): string {
    const start = this.at++;
    let text = "";
    for (; !this.isAtEnd; this.at++) {
      if (this.next === '"') {
        this.at++;
        return text;
      }
      if (this.next === "\\") {
        if (!/["\\]/.test(this.q.charAt(this.at + 1))) {
          throw this.error('In quotes, write a backslash twice: "\\\\".');
        }
        this.at++;
      }
      text += this.next;
    }
    throw this.error('This quote is not closed. Add a ".', start, this.appended('"'));
  }

  protected takeOr(): boolean {
    if (!this.isAtOr) return false;
    this.at += 2;
    return true;
  }

  protected get isAtOr(): boolean {
    return this.q.startsWith("OR", this.at) && /^(?:[\s()]|$)/.test(this.q.slice(this.at + 2, this.at + 3));
  }

  protected get isAtEnd(): boolean {
    return this.at >= this.q.length;
  }

  protected get next(): string {
    return this.q.charAt(this.at);
  }

  protected take(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const text = pattern.exec(this.q)?.[0] ?? "";
    this.at += text.length;
    return text;
  }

  protected misplaced(): SearchError {
    return this.error(
      `${JSON.stringify(this.next)} isn't allowed here. Put the text in quotes to search for it, or add a space.`,
    );
  }

  protected get rest(): string {
    return this.q.slice(this.at);
  }

  /** How many spaces separate what begins here from a key before it; 0 if there is no key. */
  protected gapBefore(start: number): number {
    const before = this.q.slice(0, start);
    const isAfterKey = /[^\s()]$/.test(before.trimEnd());
    return isAfterKey ? before.length - before.trimEnd().length : 0;
  }

  /** The correction that removes the space at a position. */
  protected joined(at: number): Correction {
    const spaces = /^\s*/.exec(this.q.slice(at))![0].length;
    return { from: at, to: at + spaces, text: "" };
  }

  protected appended(text: string): Correction {
    return { from: this.q.length, to: this.q.length, text };
  }

  /** The correction is passed on only if it makes the search valid. */
  protected error(message: string, at = this.at, correction: Correction | null = null): SearchError {
    const { from, to, text } = correction ?? { from: 0, to: 0, text: "" };
    const corrected = correction && this.q.slice(0, from) + text + this.q.slice(to);
    return new SearchError(
      at + 1,
      message,
      corrected !== null && this.#isValid(corrected) ? corrected : null,
    );
  }

  #isValid(q: string): boolean {
    try {
      this.#parse(q);
      return true;
    } catch {
      return false;
    }
  }
}
