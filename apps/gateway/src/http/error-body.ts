import type { GatewayError } from '#inference/errors.js';
import { renderGeneralError } from '../protocols/general-error.js';
import type { ProtocolAdapter } from '../protocols/protocol-adapter.js';
import { protocolAt } from './routes.js';

/** The body of an error on a URL, in the words of the format that lives there; the general body everywhere else (spec 7). */
export class ErrorBodies {
  constructor(private readonly adapters: readonly ProtocolAdapter[]) {}

  render(url: string, error: GatewayError, requestId: string): string {
    const protocol = protocolAt(url);
    const adapter = this.adapters.find(({ name }) => name === protocol);
    return adapter ? adapter.renderError(error, requestId) : renderGeneralError(error);
  }
}
