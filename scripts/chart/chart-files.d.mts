/** Versions of Kubernetes that the objects need. */
export const KUBERNETES: string;

/** Returns the text of each file of charts/tollgate by its path there. Needs kubectl. */
export function chartFiles(): Record<string, string>;
