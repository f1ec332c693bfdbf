/** One removed guard, and the quick test that must fail. */
export interface Mutation {
  /** The removed guard. */
  name: string;
  file: string;
  /** Stands once in the file. */
  from: string;
  to: string;
  test: string;
  /** The beginning of the test's title, or a part of it. */
  title: string;
}

/** [what is taken away, from, to, test, title], by file. Constraints and triggers are taken away by constraints.integration.test.ts itself. */
export type MutationsByFile = Record<string, [name: string, from: string, to: string, test: string, title: string][]>;
