/** Writes keys of NATS users: seeds as variables of `seedsFile`, public keys in `usersFile`. */
export function writeNatsKeys(options: { seedsFile: string; usersFile: string; renewed?: string[] }): void;
