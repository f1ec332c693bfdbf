// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the notation of the catalog file
/** Looks up the value of a variable `UPSTREAM_…`. */
export type Variables = (name: string) => string | undefined;

const REFERENCE = /\$\{([^}]*)\}/g;
/** Not the keys of upstreams, which stand beside them where one environment serves all services. */
const NAME_AND_DEFAULT = /^(UPSTREAM_(?!KEY_)[A-Z0-9_]+)(?::-(.*))?$/s;

type Substituted = { text: string } | { problem: string };

/**
 * Replaces `${UPSTREAM_NAME:-default}` and `${UPSTREAM_NAME}` in a base URL. An empty variable counts as unset. Other names are refused, so
 * that a catalog cannot read secrets of the service.
 */
export function substitute(text: string, variables: Variables): Substituted {
  const problems: string[] = [];
  const result = text.replace(REFERENCE, (_, reference: string) => {
    const match = NAME_AND_DEFAULT.exec(reference);
    if (!match) {
      problems.push(
        'may only use variables whose names begin with UPSTREAM_, and not with UPSTREAM_KEY_, as in ${UPSTREAM_LOCAL_URL:-http://127.0.0.1:9100/v1}',
      );
      return '';
    }
    const name = match[1] as string;
    const value = variables(name) || match[2];
    if (value === undefined) problems.push(`needs the environment variable ${name}, which is not set and has no default here`);
    return value ?? '';
  });
  return problems[0] === undefined ? { text: result } : { problem: problems[0] };
}
