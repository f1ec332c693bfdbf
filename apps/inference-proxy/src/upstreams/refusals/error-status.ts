import { findStatus } from '../replies/json-object.js';

/**
 * Statuses by the words of all vendors for kinds of errors, in lower case with underscores and without a last `error` or `exception`:
 * OpenAI's and Anthropic's types, those of gRPC and AWS, and the names of Python's exceptions.
 */
const STATUSES: readonly [number, RegExp][] = [
  [
    400,
    /^(?:invalid|unsupported|unknown|unrecognized|missing)_(?:required_)?(?:request|argument|param(?:eter)?s?|value|type|field|input)$/,
  ],
  [400, /^(?:bad_request|validation_exception|request_validation|failed_precondition|unprocessable(?:_entity|_content)?)$/],
  [401, /^(?:authentication|unauthenticated|unauthorized|invalid_authentication)$/],
  [402, /^(?:billing|payment_required|insufficient_(?:balance|credits?|funds))$/],
  [403, /^(?:permission|permission_denied|forbidden|access_denied)$/],
  [404, /^(?:(?:model_|resource_)?not_found)$/],
  [413, /^(?:(?:request|payload|request_entity|content)_too_large)$/],
  [429, /^(?:rate_limit(?:_exceeded|_reached|ed)?|too_many_requests|throttl(?:ing|ed)|resource_exhausted|model_not_ready)$/],
  [500, /^(?:api|server|internal|internal_server|internal_service|internal_failure)$/],
  [503, /^(?:service_unavailable|temporarily_unavailable|unavailable|capacity|(?:server_|model_|engine_)?(?:is_)?overloaded)$/],
  [504, /^(?:(?:request_|model_|gateway_|upstream_)?time_?out|deadline_exceeded)$/],
];

/**
 * Returns the HTTP status that an error's fields name: a number in one of them, otherwise that of the first word that names a kind. 0 when
 * they name none. An error with status 200, in a stream or a plain reply, has no other status.
 */
export function findErrorStatus(fields: readonly unknown[]): number {
  const number = findStatus(fields);
  if (number !== 0) return number;
  for (const field of fields) {
    if (typeof field !== 'string' || field.length > WORD_MAX) continue;
    const word = toName(field);
    const [status] = STATUSES.find(([, pattern]) => pattern.test(word)) ?? [];
    if (status !== undefined) return status;
  }
  return 0;
}

/** Characters of the longest word that is read: some servers put the whole prompt into these fields. */
const WORD_MAX = 64;

function toName(word: string): string {
  return word
    .trim()
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replace(/[\s.-]+/g, '_')
    .replace(/(?:_error|(?<!^validation)_exception)$/, ''); // a ValidationException is AWS's, a ValidationError that of a server's own code
}
