import 'reflect-metadata';
import { plainToInstance } from 'class-transformer';
import { type ValidationError, validateSync } from 'class-validator';
import { ServiceError } from '#contracts/service-error.js';

/**
 * Makes a request DTO of a parsed payload. Unknown fields are dropped. Throws `ServiceError('invalid_request')` with the
 * first fault, naming the field as a path: `settles[0].usage.promptTokens`.
 */
export function validatePayload<Request extends object>(type: new () => Request, payload: unknown): Request {
  if (typeof payload !== 'object' || payload === null || Array.isArray(payload)) {
    throw new ServiceError('invalid_request', 'The request must be a JSON object.');
  }
  const request = plainToInstance(type, payload);
  const [first] = validateSync(request, { whitelist: true, forbidUnknownValues: false, stopAtFirstError: true });
  if (first !== undefined) throw faultOf(first, '');
  return request;
}

function faultOf(fault: ValidationError, parent: string): ServiceError {
  const path = join(parent, fault.property);
  const [constraint] = Object.values(fault.constraints ?? {});
  const [child] = fault.children ?? [];
  if (constraint === undefined && child !== undefined) return faultOf(child, path);
  if (fault.value === undefined) return new ServiceError('invalid_request', `${path} is missing`, path);
  const rule = constraint ?? `${fault.property} is invalid`;
  return new ServiceError(
    'invalid_request',
    rule.startsWith(fault.property) ? path + rule.slice(fault.property.length) : `${path}: ${rule}`,
    path,
  );
}

function join(parent: string, property: string): string {
  if (/^\d+$/.test(property)) return `${parent}[${property}]`;
  return parent === '' ? property : `${parent}.${property}`;
}
