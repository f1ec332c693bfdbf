import { ValidateBy, ValidateIf, type ValidationArguments } from 'class-validator';
import { isBaseUrl, isUpstreamProxy, KEY_PREFIX, KEY_VARIABLE, SECRET_FILE_NAME, UPSTREAM_PROXY_RULE } from '#contracts/upstream-rules.js';
import { USD_EACH, USD_PER_MILLION } from '#money/price.js';

/*
 * Rules of the catalog file, one constraint each, so that a field at fault gets exactly one line: what it must be.
 * A field with a default carries it as its initial value; writing `null` (an empty value in YAML) is a fault, never a default.
 */

/** The field may be absent; `null` must still satisfy its rules. */
export function Optional(): PropertyDecorator {
  return ValidateIf((_, value) => value !== undefined);
}

export function WholeNumber(min: number, max: number): PropertyDecorator {
  return rule(
    `must be a whole number from ${min} to ${max}`,
    (value) => typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max,
  );
}

export function TrueOrFalse(): PropertyDecorator {
  return rule('must be true or false', (value) => typeof value === 'boolean');
}

export function OneOf(allowed: readonly string[]): PropertyDecorator {
  return rule(`must be ${allowed.join(' or ')}`, (value) => typeof value === 'string' && allowed.includes(value));
}

/** Text of 1 to `lengthMax` characters without control characters. */
export function Text(lengthMax: number): PropertyDecorator {
  return rule(
    quoted(`must be text of 1 to ${lengthMax} characters`),
    (value) => typeof value === 'string' && value.length <= lengthMax && /^[^\p{Cc}]+$/u.test(value),
  );
}

/** An id. It appears unchanged in URLs, logs and metrics. */
export function Identifier(lengthMax: number): PropertyDecorator {
  return rule(
    quoted(`must be an id of 1 to ${lengthMax} letters, digits and ._:/@- that begins with a letter or digit`),
    (value) => typeof value === 'string' && value.length <= lengthMax && /^[A-Za-z0-9][A-Za-z0-9._:/@-]*$/.test(value),
  );
}

/** Name of a variable with the key of an upstream. The message never repeats the value, which may be a pasted secret. */
export function KeyVariable(): PropertyDecorator {
  return rule(
    (value) =>
      typeof value === 'string' && /^[A-Z_][A-Z0-9_]{0,127}$/.test(value)
        ? `must begin with ${KEY_PREFIX} and not end with _HOSTS: rename the variable, here and for the inference-proxy`
        : `must be the name of an environment variable such as ${KEY_PREFIX}LOCAL, never the secret itself`,
    (value) => typeof value === 'string' && KEY_VARIABLE.test(value),
  );
}

export function SecretFileName(): PropertyDecorator {
  return rule(
    "must be the name of a file in the inference-proxy's UPSTREAM_SECRETS_DIR such as openai-key, never the secret itself",
    (value) => typeof value === 'string' && value.length <= 256 && SECRET_FILE_NAME.test(value),
  );
}

/** Paths of a single endpoint: with one, every call would go to `/chat/completions/chat/completions`. */
const ENDPOINT = /\/(chat\/completions|completions|responses|messages)\/*$/;

/** Base URL of an upstream, without credentials or query. The message does not repeat the URL. */
export function BaseUrl(): PropertyDecorator {
  return rule(
    (value) =>
      isBaseUrl(value)
        ? `must end before /${ENDPOINT.exec(value)?.[1]}, as in https://api.example.com/v1: the rest is added to it`
        : 'must be an http:// or https:// URL without credentials, query or fragment',
    (value) => isBaseUrl(value) && !ENDPOINT.test(value),
  );
}

/** Forward proxy of an upstream. The message does not repeat the URL, which may hold credentials. */
export function UpstreamProxy(): PropertyDecorator {
  return rule(UPSTREAM_PROXY_RULE, isUpstreamProxy);
}

/** A rule of `upstream-request.ts`, which says what is wrong. */
export function Satisfies(findFault: (value: unknown) => string | undefined): PropertyDecorator {
  return rule(
    (value) => findFault(value) ?? '',
    (value) => findFault(value) === undefined,
  );
}

/** Path of a URL. */
export function UrlPath(): PropertyDecorator {
  return rule(
    'must be a path that begins with / such as /health',
    (value) => typeof value === 'string' && value.length <= 2_000 && /^\/(?!\/)[!-~]*$/.test(value) && !value.includes('#'),
  );
}

/** USD per million tokens, quoted: YAML has already rounded an unquoted `0.15` to a float. */
export function UsdPerMillionTokens(): PropertyDecorator {
  return rule(
    'must be USD per million tokens in quotes with at most six decimals, such as "0.15"',
    (value) => typeof value === 'string' && USD_PER_MILLION.test(value),
  );
}

/** USD per request or image, quoted as the other prices are. */
export function UsdEach(): PropertyDecorator {
  return rule(
    'must be USD below 1000000 in quotes with at most twelve decimals, such as "0.01"',
    (value) => typeof value === 'string' && USD_EACH.test(value),
  );
}

/** A percentage with or without quotes: a number with two decimals survives YAML. */
export function Percent(): PropertyDecorator {
  return rule('must be a percentage from 0 to 100 with at most two decimals, such as 12.5', (value) => {
    const match = /^(\d{1,3})(\.\d{1,2})?$/.exec(typeof value === 'number' || typeof value === 'string' ? String(value) : '');
    return match !== null && Number(match[0]) <= 100;
  });
}

/** A list of distinct values of `allowed`, including `required`. */
export function SetOf(allowed: readonly string[], required: string): PropertyDecorator {
  return rule(
    `must be a list of ${allowed.join(' and ')} without repeats, with ${required} in it`,
    (value) =>
      Array.isArray(value) &&
      value.every((item) => allowed.includes(item)) &&
      new Set(value).size === value.length &&
      value.includes(required),
  );
}

/** A list of `lengthMin` to `lengthMax` entries, not of lists. The entries have their own rules. */
export function List(lengthMin: number, lengthMax: number): PropertyDecorator {
  return rule(
    `must be a list of ${lengthMin} to ${lengthMax} entries`,
    (value) => Array.isArray(value) && value.length >= lengthMin && value.length <= lengthMax && !value.some(Array.isArray),
  );
}

export const FIELDS_EXPECTED = 'must be a group of fields';

/** A mapping. Goes with `ValidateNested`, which alone accepts lists and absence. */
export function Fields(): PropertyDecorator {
  return rule(FIELDS_EXPECTED, (value) => typeof value === 'object' && value !== null && !Array.isArray(value));
}

/** Adds a hint to quote a value that YAML reads as a number or boolean: `model: 401`. */
function quoted(problem: string): (value: unknown) => string {
  return (value) => (typeof value === 'number' || typeof value === 'boolean' ? `${problem}; put it in quotes` : problem);
}

function rule(problem: string | ((value: unknown) => string), holds: (value: unknown) => boolean): PropertyDecorator {
  const defaultMessage = typeof problem === 'string' ? () => problem : (args?: ValidationArguments) => problem(args?.value);
  return ValidateBy({ name: 'rule', validator: { validate: holds, defaultMessage } });
}
