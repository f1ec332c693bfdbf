import { MUTATIONS_OF_BUDGETS } from './mutations/budgets.js';
import { MUTATIONS_OF_DETACHED_MONTHS } from './mutations/detached-months.js';
import { MUTATIONS_OF_GOVERNANCE } from './mutations/governance.js';
import { MUTATIONS_OF_HOLDS } from './mutations/holds.js';
import { MUTATIONS_OF_LIMITS } from './mutations/limits.js';
import { MUTATIONS_OF_MONEY } from './mutations/money.js';
import type { Mutation } from './mutations/mutation.js';
import { MUTATIONS_OF_SURVIVORS } from './mutations/survivors.js';

export const MUTATIONS: Mutation[] = [
  MUTATIONS_OF_BUDGETS,
  MUTATIONS_OF_DETACHED_MONTHS,
  MUTATIONS_OF_GOVERNANCE,
  MUTATIONS_OF_HOLDS,
  MUTATIONS_OF_LIMITS,
  MUTATIONS_OF_MONEY,
  MUTATIONS_OF_SURVIVORS,
].flatMap((byFile) =>
  Object.entries(byFile).flatMap(([file, mutations]) =>
    mutations.map(([name, from, to, test, title]) => ({ name, file, from, to, test, title })),
  ),
);
