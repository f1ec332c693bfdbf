import type { Caller } from '#contracts/audit.js';
import type { TraceContext } from '#tracing/trace-context.js';
import type { Admission } from './admission.js';
import type { LocalEndpoint, LocalRequest } from './local-exchange.js';
import type { LocalStream } from './local-stream.js';
import type { CallContext } from './messaging.js';
import type { ServedRoute } from './served-route.js';
import { copyJson, describeCaller, toServiceError } from './wire.js';

/** Serves a route to this process. `streams` has those that are running. */
export function localEndpoint(route: ServedRoute, admission: Admission, streams: Set<{ stop(): void }>): LocalEndpoint {
  return {
    async answer(request) {
      const run = route.begin();
      const end = (failure?: unknown): void => route.end(run, failure, () => request.trace);
      try {
        admission.checkLoad();
        const reply = copyJson(await route.handle(run, request.payload, request.bytes, new LocalContext(route.subject, request)));
        end();
        return reply;
      } catch (error) {
        end(error);
        throw toServiceError(error);
      }
    },

    open(request, stream) {
      const run = route.begin();
      streams.add(stream);
      const open = async (): Promise<AsyncIterable<readonly unknown[]>> => {
        admission.checkLoad();
        const context = new LocalContext(route.subject, request, stream);
        return (await route.handle(run, request.payload, request.bytes, context)) as AsyncIterable<readonly unknown[]>;
      };
      stream.run(open(), (failure) => {
        streams.delete(stream);
        route.end(run, failure, () => request.trace);
      });
    },
  };
}

/** The context of a call within the process. */
class LocalContext implements CallContext {
  private controller: AbortController | undefined;

  constructor(
    readonly subject: string,
    private readonly request: LocalRequest,
    private readonly stream?: LocalStream<unknown>,
  ) {}

  get trace(): TraceContext | undefined {
    return this.request.trace;
  }

  get caller(): Caller {
    return describeCaller(this.request.actor ?? {}, this.request.via);
  }

  get signal(): AbortSignal {
    if (this.stream !== undefined) return this.stream.abortSignal;
    this.controller ??= new AbortController();
    return this.controller.signal;
  }

  callerIsThere(): Promise<boolean> {
    return Promise.resolve(this.request.isCallerThere());
  }
}
