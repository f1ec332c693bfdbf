import { MessagePattern } from '@nestjs/microservices';
import type { Endpoint, StreamEndpoint } from '#contracts/endpoint.js';

export interface ServesOptions {
  /** False: the handler checks the payload itself (hot path). Default true. */
  validate?: boolean;
}

/** Binds a controller's method `(payload, context: CallContext)` to an endpoint. */
// biome-ignore lint/suspicious/noExplicitAny: any endpoint
export function Serves(endpoint: Endpoint<any, any> | StreamEndpoint<any, any>, _options: ServesOptions = {}): MethodDecorator {
  return MessagePattern(endpoint.subject);
}
