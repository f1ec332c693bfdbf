import { ValidateBy, ValidateIf, type ValidationArguments } from 'class-validator';
import { isOwnVariable } from '#contracts/own-variables.js';

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
    quoted(`must be text of 1 to ${lengthMax} characters`),
    (value) => typeof value === 'string' && value.length <= lengthMax && /^[^\p{Cc}]+$/u.test(value),
  );
}

/** An id: it appears in URLs, logs and metrics as it is. */
export function Identifier(lengthMax: number): PropertyDecorator {
  return rule(
    quoted(`must be an id of 1 to ${lengthMax} letters, digits and ._:/@- that begins with a letter or digit`),
    (value) => typeof value === 'string' && value.length <= lengthMax && /^[A-Za-z0-9][A-Za-z0-9._:/@-]*$/.test(value),
  );
}

/** The name of an environment variable. The message never repeats the value: someone may have pasted the secret itself. */
export function VariableName(): PropertyDecorator {
  return rule(
    (value) =>
      isVariableName(value)
        ? "must not be a variable of Tollgate's own services; put the upstream's key in another one, such as LOCAL_API_KEY"
        : 'must be the name of an environment variable such as LOCAL_API_KEY, never the secret itself',
    (value) => isVariableName(value) && !isOwnVariable(value),
  );
}

function isVariableName(value: unknown): value is string {
  return typeof value === 'string' && /^[A-Z_][A-Z0-9_]{0,127}$/.test(value);
}

/** The name of a file in the proxy's folder of secrets: nothing else of its machine can be named. */
export function SecretFileName(): PropertyDecorator {
  return rule(
    "must be the name of a file in the inference-proxy's UPSTREAM_SECRETS_DIR such as openai-key, never the secret itself",
    (value) => typeof value === 'string' && value.length <= 256 && /^\w[\w.-]*(\/\w[\w.-]*){0,3}$/.test(value),
  );
}

/** What belongs to a single endpoint: pasted from an example, every call would go to `/chat/completions/chat/completions`. */
const ENDPOINT = /\/(chat\/completions|completions|responses|messages)\/*$/;

/** Where an upstream is. Credentials have no place in it, and a query would end up before the path we append. The URL is not repeated. */
export function BaseUrl(): PropertyDecorator {
  return rule(
    (value) =>
      isBaseUrl(value)
        ? `must end before /${ENDPOINT.exec(value)?.[1]}, as in https://api.example.com/v1: the rest is added to it`
        : 'must be an http:// or https:// URL without credentials, query or fragment',
    (value) => isBaseUrl(value) && !ENDPOINT.test(value),
  );
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

/** What YAML takes for a number, or for true and false, although text was meant: `model: 401`. */
function quoted(problem: string): (value: unknown) => string {
  return (value) => (typeof value === 'number' || typeof value === 'boolean' ? `${problem}; put it in quotes` : problem);
}

function rule(problem: string | ((value: unknown) => string), holds: (value: unknown) => boolean): PropertyDecorator {
  const defaultMessage = typeof problem === 'string' ? () => problem : (args?: ValidationArguments) => problem(args?.value);
  return ValidateBy({ name: 'rule', validator: { validate: holds, defaultMessage } });
}

function isBaseUrl(value: unknown): value is string {
  if (typeof value !== 'string' || value.length > 2_000 || /[\s?#]/.test(value) || !URL.canParse(value)) return false;
  const url = new URL(value);
  return (url.protocol === 'http:' || url.protocol === 'https:') && url.username === '' && url.password === '';
}
