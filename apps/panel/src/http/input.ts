import { getMetadataStorage } from 'class-validator';
import { validatePayload } from '#validation/validate-payload.js';

/** Account id of the path that stands for all accounts. Guards admit it for platform roles alone. */
const ALL_ACCOUNTS = 'all';

interface Received {
  params: Record<string, unknown>;
  query: object;
  body: unknown;
  method: string;
}

/**
 * Returns the message that a request asks for: ids from the path, the other fields from the query of a `GET`, else from the body. Ids of
 * the path win, because guards have checked them.
 * @throws {ServiceError} `invalid_request` that names the field.
 */
export function parseInput<Message extends object>(type: new () => Message, { params, query, body, method }: Received): Message {
  const { accountId, ...others } = params;
  const path = accountId === ALL_ACCOUNTS ? others : params;
  if (method === 'GET' || method === 'HEAD') return validatePayload(type, { ...typed(type, query), ...path });
  const isObject = typeof body === 'object' && body !== null && !Array.isArray(body);
  return validatePayload(type, isObject || body === undefined ? { ...body, ...path } : body);
}

/** Converts the texts of a query to the types of the fields: whole numbers, and lists separated by commas. */
function typed(type: new () => object, query: object): Record<string, unknown> {
  const rules = getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
  const has = (field: string, rule: string): boolean => rules.some(({ propertyName, name }) => propertyName === field && name === rule);
  return Object.fromEntries(
    Object.entries(query).map(([field, value]) => {
      if (typeof value !== 'string') return [field, value];
      if (has(field, 'isInt') && /^\d{1,9}$/.test(value)) return [field, Number(value)];
      return [field, has(field, 'isArray') ? value.split(',') : value];
    }),
  );
}
