import { IncomingMessage, type RequestListener, type ServerOptions, ServerResponse } from 'node:http';

/** An Express application, which holds the prototypes of its messages. */
type Application = RequestListener & { request?: object; response?: object };

/**
 * Returns classes for a Node server whose messages have the prototypes of an Express application from the start; none for another handler.
 * Express sets its prototypes on every message. That changes the hidden class of an object in use, which costs V8 more than the routing.
 */
export function messageClasses(application: Application): Pick<ServerOptions, 'IncomingMessage' | 'ServerResponse'> {
  const { request, response } = application;
  if (request === undefined || response === undefined) return {};
  class ExpressRequest extends IncomingMessage {}
  class ExpressResponse extends ServerResponse {}
  Object.setPrototypeOf(ExpressRequest.prototype, request);
  Object.setPrototypeOf(ExpressResponse.prototype, response);
  application.request = ExpressRequest.prototype;
  application.response = ExpressResponse.prototype;
  return { IncomingMessage: ExpressRequest, ServerResponse: ExpressResponse as typeof ServerResponse };
}
