/** Account for programs that refuse to run as root; undefined if this process is not root. */
export function unprivilegedAccount(): { uid: number; gid: number } | undefined;
