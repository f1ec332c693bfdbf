/** The migrations that replace those of version 0.1.0. */
export const BASELINES: string[];

/** Texts of the parts of a file by their names, which stand on lines such as `-- ==== name`. */
export function splitCost(text: string): Map<string, string>;
