import { ValidateBy, ValidateIf } from 'class-validator';

/*
 * Rules of the catalog file, one constraint each, so that a field at fault gets exactly one line: what it must be.
 * A field with a default carries it as its initial value; writing `null` (an empty value in YAML) is a fault, never a default.
 */

/** May be left out; `null` still has to obey the field's rule. */
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
    `must be text of 1 to ${lengthMax} characters`,
    (value) => typeof value === 'string' && value.length <= lengthMax && /^[^\p{Cc}]+$/u.test(value),
  );
}

/** An id: it appears in URLs, logs and metrics as it is. */
export function Identifier(lengthMax: number): PropertyDecorator {
  return rule(
    `must be an id of 1 to ${lengthMax} letters, digits and ._:/@- that begins with a letter or digit`,
    (value) => typeof value === 'string' && value.length <= lengthMax && /^[A-Za-z0-9][A-Za-z0-9._:/@-]*$/.test(value),
  );
}

/** The name of an environment variable. The message never repeats the value: someone may have pasted the secret itself. */
export function VariableName(): PropertyDecorator {
  return rule(
    'must be the name of an environment variable such as LOCAL_API_KEY, never the secret itself',
    (value) => typeof value === 'string' && /^[A-Z_][A-Z0-9_]{0,127}$/.test(value),
  );
}

/** The name of a file in the proxy's folder of secrets: nothing else of its machine can be named. */
export function SecretFileName(): PropertyDecorator {
  return rule(
    "must be the name of a file in the inference-proxy's UPSTREAM_SECRETS_DIR such as openai-key, never the secret itself",
    (value) => typeof value === 'string' && value.length <= 256 && /^\w[\w.-]*(\/\w[\w.-]*){0,3}$/.test(value),
  );
}

/** Where an upstream is. Credentials have no place in it, and a query would end up before the path we append. */
export function BaseUrl(): PropertyDecorator {
  return rule('must be an http:// or https:// URL without credentials, query or fragment', isBaseUrl);
}

/** What follows the host in a URL. */
export function UrlPath(): PropertyDecorator {
  return rule(
    'must be a path that begins with / such as /health',
    (value) => typeof value === 'string' && value.length <= 2_000 && /^\/(?!\/)[!-~]*$/.test(value) && !value.includes('#'),
  );
}

/** USD per million tokens, quoted: an unquoted `0.15` has been through a float already. */
export function UsdPerMillionTokens(): PropertyDecorator {
  return rule(
    'must be USD per million tokens in quotes with at most six decimals, such as "0.15"',
    (value) => typeof value === 'string' && /^\d{1,7}(\.\d{1,6})?$/.test(value),
  );
}

/** A list of distinct values out of `allowed`, `required` among them. */
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

/** A list of `lengthMin` to `lengthMax` entries; the entries have rules of their own. A list inside a list is none. */
export function List(lengthMin: number, lengthMax: number): PropertyDecorator {
  return rule(
    `must be a list of ${lengthMin} to ${lengthMax} entries`,
    (value) => Array.isArray(value) && value.length >= lengthMin && value.length <= lengthMax && !value.some(Array.isArray),
  );
}

export const FIELDS_EXPECTED = 'must be a group of fields';

/** Fields of its own; goes with `ValidateNested`, which by itself lets lists and absence pass. */
export function Fields(): PropertyDecorator {
  return rule(FIELDS_EXPECTED, (value) => typeof value === 'object' && value !== null && !Array.isArray(value));
}

function rule(problem: string, holds: (value: unknown) => boolean): PropertyDecorator {
  return ValidateBy({ name: 'rule', validator: { validate: holds, defaultMessage: () => problem } });
}

function isBaseUrl(value: unknown): boolean {
  if (typeof value !== 'string' || value.length > 2_000 || /[\s?#]/.test(value) || !URL.canParse(value)) return false;
  const url = new URL(value);
  return (url.protocol === 'http:' || url.protocol === 'https:') && url.username === '' && url.password === '';
}
