import { limits } from "../core/limits.ts";
import type { EventFilter } from "../event/filter.ts";
import { printSearch } from "../event/search.ts";
import { countMatches, timeOfEvents } from "../events/count.ts";
import type { SearchAlternative, SearchAlternatives } from "../schemas/search-alternatives.ts";
import type { Store } from "../storage/store.ts";
import { asPrefix, createCorrections } from "./corrections.ts";
import { type FilterTerms, filterOfTerms, searchOfTerms, termsOf } from "./filter-terms.ts";
import { TimeLimit } from "./time-limit.ts";

/** Terms that are looked at: more would take too many searches. */
const termsMax = 8;
const alternativesMax = 8;

type Attempt = Pick<SearchAlternative, "kind" | "term" | "by" | "detail"> & { filter: FilterTerms };

/**
 * Suggests what to search for instead of a search that finds nothing: what was probably meant by a term that finds
 * nothing on its own, and what can be left out. Each is tried, within a time; what is not counted by then is left out.
 */
export function createAlternatives(store: Store) {
  const { events } = store;
  const correct = createCorrections(store);

  const findsAny = async (projectId: number, filter: EventFilter, signal: AbortSignal) =>
    (await events.page({ projectId, filter, order: "desc" }, 1, signal)).events.length > 0;

  return async function alternatives(projectId: number, filter: EventFilter): Promise<SearchAlternatives> {
    const timeLimit = new TimeLimit(limits.alternativesMs);
    const asked = termsOf(filter);
    const terms = asked.terms.slice(0, termsMax);
    const hasTime = asked.fromMs !== undefined || asked.toMs !== undefined;
    const time = await timeOfEvents(events, projectId);

    const corrections = await Promise.all(
      terms.map((term) =>
        timeLimit.orElse([], async (signal) =>
          (await findsAny(projectId, { search: term }, signal))
            ? // It is meant as it is, but for a word, which may be the beginning of others.
              asPrefix(term)
            : correct(projectId, term, signal),
        ),
      ),
    );
    const instead = terms.flatMap((term, at) =>
      corrections[at]!.map(
        ({ search, detail }): Attempt => ({
          kind: "instead",
          term: printSearch(term),
          by: printSearch(search),
          ...(detail !== undefined && { detail }),
          filter: { ...asked, terms: asked.terms.with(at, search) },
        }),
      ),
    );
    const without = terms.map(
      (term, at): Attempt => ({
        kind: "without",
        term: printSearch(term),
        filter: { ...asked, terms: asked.terms.toSpliced(at, 1) },
      }),
    );
    const anyTime: Attempt[] = hasTime
      ? [{ kind: "anyTime", term: null, filter: { terms: asked.terms } }]
      : [];

    const found = await tried([...instead, ...anyTime, ...without]);
    if (found.length > 0 || !hasTime) return { ok: true, alternatives: found.slice(0, alternativesMax) };
    const atAnyTime = [...instead, ...without].map((attempt) => ({
      ...attempt,
      filter: { terms: attempt.filter.terms },
    }));
    return { ok: true, alternatives: (await tried(atAnyTime)).slice(0, alternativesMax) };

    /** Those that find something. */
    async function tried(attempts: Attempt[]): Promise<SearchAlternative[]> {
      const results = await Promise.all(
        attempts.map((attempt) =>
          timeLimit.orElse(null, async (signal): Promise<SearchAlternative | null> => {
            const { filter: terms, ...shown } = attempt;
            const filter = filterOfTerms(terms);
            if (!(await findsAny(projectId, filter, signal))) return null;
            const count = timeLimit.orElse(null, () =>
              countMatches(events, projectId, filter, { signal, time }),
            );
            return {
              ...shown,
              anyTime: hasTime && terms.fromMs === undefined && terms.toMs === undefined,
              events: await count,
              q: searchOfTerms(terms),
            };
          }),
        ),
      );
      return results.filter((result) => result !== null);
    }
  };
}
