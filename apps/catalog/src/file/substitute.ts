// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the notation of the catalog file
/** Where the values of `${UPSTREAM_…}` come from. */
export type Variables = (name: string) => string | undefined;

const REFERENCE = /\$\{([^}]*)\}/g;
const NAME_AND_DEFAULT = /^(UPSTREAM_[A-Z0-9_]+)(?::-(.*))?$/s;

export type Substituted = { text: string } | { problem: string };

/**
 * Replaces every `${UPSTREAM_NAME:-default}` or `${UPSTREAM_NAME}` in a base URL. An empty variable counts as unset.
 * Other names are refused: whoever may write a catalog must not be able to read the service's secrets with it.
 */
export function substitute(text: string, variables: Variables): Substituted {
  const problems: string[] = [];
  const result = text.replace(REFERENCE, (_, reference: string) => {
    const match = NAME_AND_DEFAULT.exec(reference);
    if (!match) {
      problems.push('may only use variables whose names begin with UPSTREAM_, as in ${UPSTREAM_LOCAL_URL:-http://127.0.0.1:9100/v1}');
      return '';
    }
    const name = match[1] as string;
    const value = variables(name) || match[2];
    if (value === undefined) problems.push(`needs the environment variable ${name}, which is not set and has no default here`);
    return value ?? '';
  });
  return problems[0] === undefined ? { text: result } : { problem: problems[0] };
}
