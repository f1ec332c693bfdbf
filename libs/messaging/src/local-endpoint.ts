import type { Caller } from '#contracts/audit.js';
import type { TraceContext } from '#tracing/trace-context.js';
import type { Admission } from './admission.js';
import type { LocalEndpoint, LocalSender } from './local-exchange.js';
import type { LocalStream } from './local-stream.js';
import type { CallContext } from './messaging.js';
import type { ServedRoute } from './served-route.js';
import { copyJson, describeCaller, toServiceError } from './wire.js';

/** Serves a route to this process. `streams` has those that are running. */
export function localEndpoint(route: ServedRoute, admission: Admission, streams: Set<{ stop(): void }>): LocalEndpoint {
  return {
    async answer({ payload, bytes, sender }) {
      const run = route.begin();
      const end = (failure?: unknown): void => route.end(run, failure, () => sender.trace);
      try {
        admission.checkLoad();
        const reply = copyJson(await route.handle(run, payload, bytes, new LocalContext(route.subject, sender)));
        end();
        return reply;
      } catch (error) {
        end(error);
        throw toServiceError(error);
      }
    },

    open({ payload, bytes, sender }, stream) {
      const run = route.begin();
      streams.add(stream);
      const open = async (): Promise<AsyncIterable<readonly unknown[]>> => {
        admission.checkLoad();
        const context = new LocalContext(route.subject, sender, stream);
        return (await route.handle(run, payload, bytes, context)) as AsyncIterable<readonly unknown[]>;
      };
      stream.run(open(), (failure) => {
        streams.delete(stream);
        route.end(run, failure, () => sender.trace);
      });
    },
  };
}

/** The context of a call within the process. */
class LocalContext implements CallContext {
  private controller: AbortController | undefined;

  constructor(
    readonly subject: string,
    private readonly sender: LocalSender,
    private readonly stream?: LocalStream<unknown>,
  ) {}

  get trace(): TraceContext | undefined {
    return this.sender.trace;
  }

  get caller(): Caller {
    return describeCaller(this.sender.actor ?? {}, this.sender.via);
  }

  get signal(): AbortSignal {
    if (this.stream !== undefined) return this.stream.abortSignal;
    this.controller ??= new AbortController();
    return this.controller.signal;
  }

  callerIsThere(): Promise<boolean> {
    return Promise.resolve(this.sender.isCallerThere());
  }
}
