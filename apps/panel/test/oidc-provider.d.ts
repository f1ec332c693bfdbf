// The package has no types of its own. These are the parts that the tests use.
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http';

  interface Context {
    oidc: {
      client: { clientId: string };
      session: { accountId: string };
      provider: {
        Grant: new (of: { clientId: string; accountId: string }) => { addOIDCScope(scope: string): void; save(): Promise<string> };
      };
    };
  }

  export default class Provider {
    constructor(issuer: string, configuration: object);
    callback(): (request: IncomingMessage, response: ServerResponse) => Promise<void>;
    interactionFinished(request: IncomingMessage, response: ServerResponse, result: object): Promise<void>;
  }
}

declare module 'oidc-provider/lib/adapters/memory_adapter.js' {
  export function createMemoryAdapter(clockToleranceSeconds: number): (model: string) => object;
}
