/** One removed guard, and the quick test that must fail. */
export interface Mutation {
  /** The removed guard. */
  name: string;
  file: string;
  /** Occurs once in the file. */
  from: string;
  to: string;
  test: string;
  /** Part of the title of the test. */
  title: string;
}

/** Entries by file. constraints.integration.test.ts removes constraints and triggers itself. */
export type MutationsByFile = Record<string, [name: string, from: string, to: string, test: string, title: string][]>;
