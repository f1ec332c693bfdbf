import type { Caller } from '#contracts/audit.js';
import { routeList, type Upstream } from '#contracts/catalog.js';
import {
  type CandidateProbeRequest,
  type UpstreamCandidate,
  type UpstreamProbeEvent,
  type UpstreamProbeRequest,
  upstreamTestRecord,
} from '#contracts/probe.js';
import { ServiceError } from '#contracts/service-error.js';
import { CAPABILITY_DEFAULTS, TIMEOUT_DEFAULTS } from '#contracts/upstream-defaults.js';
import { renderPath } from '#contracts/upstream-request.js';
import type { CallContext, Messaging } from '#messaging/messaging.js';
import type { Logger } from '#observability/logger.js';
import { type ProbeJob, runProbe } from './run-probe.js';

/** Each run costs money at the upstream. */
const RUNS_MAX = 4;
const OTHER_MODELS_MAX = 9;

type ProbeContext = Pick<CallContext, 'signal' | 'caller'>;

/** Runs the probes that operators ask this replica for. */
export class ProbeRunner {
  private running = 0;

  constructor(
    private readonly messaging: Pick<Messaging, 'request'>,
    private readonly logger: Logger,
  ) {}

  /**
   * Throws `ServiceError` for an upstream that is not in the catalog, without a model to probe, when too many probes run, and when the audit
   * row cannot be written.
   */
  run(request: UpstreamProbeRequest, context: ProbeContext): AsyncGenerator<UpstreamProbeEvent[]> {
    return this.probe(() => this.jobInCatalog(request), context);
  }

  /** Probes an upstream that is not in the catalog. Throws as `run`. */
  runCandidate(request: CandidateProbeRequest, context: ProbeContext): AsyncGenerator<UpstreamProbeEvent[]> {
    return this.probe(async () => candidateJob(request), context);
  }

  private async *probe(prepare: () => Promise<ProbeJob>, { signal, caller }: ProbeContext): AsyncGenerator<UpstreamProbeEvent[]> {
    if (this.running >= RUNS_MAX)
      throw new ServiceError('unavailable', 'Too many upstream tests are under way; try again when one has ended.');
    this.running += 1;
    try {
      const job = await prepare();
      await this.record(job, caller);
      const { id, baseUrl, kind, apiKeyEnv, apiKeyFile, auth } = job.upstream;
      const fields = { upstream: id, kind, host: new URL(baseUrl).host, apiKeyEnv, apiKeyFile, auth: auth?.kind, model: job.models[0] };
      this.logger.info(fields, 'upstream probe started');
      for await (const events of runProbe(job, signal)) {
        yield events;
        for (const event of events) {
          if (event.type === 'test-end')
            this.logger.info({ ...fields, servesText: event.servesText, changes: event.changes.length }, 'upstream probe finished');
        }
      }
    } finally {
      this.running -= 1;
    }
  }

  /** Writes the audit row before the first request: a test costs money, and sends a key. */
  private async record(
    { upstream, isInCatalog, models, embeddingModels = [] }: ProbeJob,
    { actor, actorName, ip, requestId, via }: Caller,
  ): Promise<void> {
    const tested = [...new Set([...models, ...embeddingModels])].slice(0, 1 + OTHER_MODELS_MAX);
    const row = { upstreamId: upstream.id, models: tested, ...(!isInCatalog && { host: new URL(upstream.baseUrl).host }), via };
    try {
      await this.messaging.request(upstreamTestRecord, row, { actor: { actor, actorName, ip, requestId } });
    } catch (error) {
      this.logger.error({ err: error, upstream: upstream.id }, 'upstream probe refused: its audit row cannot be written');
      throw new ServiceError(
        'unavailable',
        'The test cannot be recorded: the catalog service does not take its audit row. Nothing was sent.',
      );
    }
  }

  private async jobInCatalog({ upstreamId, model, contextTokens }: UpstreamProbeRequest): Promise<ProbeJob> {
    const catalog = await this.messaging.request(routeList, {});
    const upstream = catalog.upstreams.find(({ id }) => id === upstreamId);
    if (upstream === undefined)
      throw new ServiceError('not_found', `The catalog has no upstream ${upstreamId}, or it is disabled.`, 'upstreamId');
    const listRouted = (isForEmbeddings: boolean): string[] => {
      const routed = catalog.models.filter(({ embeds = false }) => embeds === isForEmbeddings).flatMap(({ routes }) => routes);
      return [...new Set(routed.filter((route) => route.upstream === upstreamId).map((route) => route.model))];
    };
    // Most checks are about replies in words.
    const embeddingModels = model === undefined ? listRouted(true).slice(0, OTHER_MODELS_MAX) : [];
    const [first = embeddingModels[0], ...others] = model === undefined ? listRouted(false) : [model];
    if (first === undefined)
      throw new ServiceError('invalid_request', 'model is missing: no model of the catalog is routed to this upstream', 'model');
    const own = catalog.models.flatMap(({ routes }) => routes).find((route) => route.upstream === upstreamId && route.model === first);
    const capabilities = { ...upstream.capabilities, ...own?.capabilities };
    return {
      upstream: { ...upstream, capabilities },
      isInCatalog: true,
      models: [first, ...others.slice(0, OTHER_MODELS_MAX)],
      contextTokens,
      embeddingModels,
    };
  }
}

function candidateJob({ upstreamId, candidate, model, contextTokens }: CandidateProbeRequest): ProbeJob {
  assertConsistent(candidate);
  if (candidate.path !== undefined && renderPath(candidate.path, model) === undefined)
    throw new ServiceError('invalid_request', 'model would lead out of candidate.path', 'model');
  return { upstream: toUpstream(upstreamId, candidate), isInCatalog: false, models: [model], contextTokens };
}

/** Applies the catalog's rules between fields. */
function assertConsistent({ baseUrl, apiKeyEnv, apiKeyFile, auth, tls }: UpstreamCandidate): void {
  const refuse = (field: string, problem: string): never => {
    throw new ServiceError('invalid_request', `candidate.${field} ${problem}`, `candidate.${field}`);
  };
  if (apiKeyEnv !== undefined && apiKeyFile !== undefined) refuse('apiKeyFile', 'cannot stand beside apiKeyEnv; an upstream has one key');
  if (auth !== undefined && (apiKeyEnv !== undefined || apiKeyFile !== undefined))
    refuse('auth', 'cannot stand beside apiKeyEnv or apiKeyFile; an upstream has one key');
  if (tls === undefined) return;
  if (tls.certFile === undefined && tls.keyFile !== undefined) refuse('tls.certFile', 'is missing: a key goes with its certificate');
  if (tls.certFile !== undefined && tls.keyFile === undefined) refuse('tls.keyFile', 'is missing: a certificate goes with its key');
  if (!/^https:/i.test(baseUrl)) refuse('baseUrl', 'must begin with https:// where there are certificates');
}

/** Returns the upstream that a catalog entry with only these fields defines. */
function toUpstream(id: string, candidate: UpstreamCandidate): Upstream {
  const { apiKeyEnv, apiKeyFile, auth, proxy, allowPrivateNetwork, tls, ...given } = candidate;
  return {
    ...given,
    id,
    apiKeyEnv: apiKeyEnv ?? null,
    apiKeyFile: apiKeyFile ?? null,
    auth: auth ?? null,
    proxy: proxy ?? null,
    allowPrivateNetwork: allowPrivateNetwork ?? false,
    tls: tls ?? null,
    capabilities: { ...CAPABILITY_DEFAULTS },
    timeouts: { ...TIMEOUT_DEFAULTS },
    connectionsMax: 2,
  };
}
