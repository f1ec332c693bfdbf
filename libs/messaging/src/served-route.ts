import type { MessageHandler } from '@nestjs/microservices';
import { isObservable, lastValueFrom } from 'rxjs';
import { ServiceError } from '#contracts/service-error.js';
import type { Logger } from '#observability/logger.js';
import { readTraceId, type TraceContext } from '#tracing/trace-context.js';
import { validatePayload } from '#validation/validate-payload.js';
import type { Admission, Run } from './admission.js';
import type { CallContext } from './messaging.js';
import type { ServedExtras } from './serves.js';
import { EndpointStatistics } from './service-registration.js';

interface RouteRules {
  admission: Admission;
  logger: Logger;
  /** Returns the `ServiceError` for an error of the service's database and the like, or the error. Default: each becomes `internal_error`. */
  translateError?: ((error: unknown) => unknown) | undefined;
}

/** A handler of a controller, with its endpoint: all that requests over NATS and requests of the same process have in common. */
export class ServedRoute {
  readonly statistics = new EndpointStatistics();

  constructor(
    readonly subject: string,
    readonly extras: ServedExtras,
    private readonly handler: MessageHandler,
    private readonly rules: RouteRules,
  ) {}

  begin(): Run {
    return this.rules.admission.begin(this.statistics.start());
  }

  /** Ends a run. Logs a failure that its caller does not get to know. */
  end(run: Run, failure: unknown, trace: () => TraceContext | undefined): void {
    this.rules.admission.end(run);
    this.statistics.end(run.startedAt, failure);
    if (failure === undefined || failure instanceof ServiceError) return;
    const context = trace();
    this.rules.logger.error({ err: failure, subject: this.subject, traceId: context && readTraceId(context) }, 'request failed');
  }

  /** Validates and handles the payload of a run; `bytes` is its size as JSON. */
  async handle(run: Run, payload: unknown, bytes: number, context: CallContext): Promise<unknown> {
    const { extras, handler, rules } = this;
    rules.admission.takeShare(run, extras.sharedBy?.(payload), bytes);
    const valid = validatePayload(extras.request, payload);
    try {
      const result: unknown = await handler(valid, context as never);
      return isObservable(result) ? await lastValueFrom(result) : result;
    } catch (error) {
      throw rules.translateError?.(error) ?? error;
    }
  }
}
