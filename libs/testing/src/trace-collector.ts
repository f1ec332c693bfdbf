import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import protobuf from 'protobufjs';
import { type CollectedExport, decodeMetrics } from './collected-metrics.js';

/** The part of OpenTelemetry's `trace_service.proto`, `trace.proto`, `common.proto` and `resource.proto` that tests read. */
const OTLP = `
syntax = "proto3";
message Request { repeated ResourceSpans resource_spans = 1; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
message Resource { repeated KeyValue attributes = 1; }
message ScopeSpans { repeated Span spans = 2; }
message Span {
  bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; bytes parent_span_id = 4; string name = 5; int32 kind = 6;
  fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8; repeated KeyValue attributes = 9; repeated Event events = 11;
  repeated Link links = 13; Status status = 15;
}
message Event { fixed64 time_unix_nano = 1; string name = 2; repeated KeyValue attributes = 3; }
message Link { bytes trace_id = 1; bytes span_id = 2; }
message Status { int32 code = 3; }
message KeyValue { string key = 1; AnyValue value = 2; }
message AnyValue {
  oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; ArrayValue array_value = 5; }
}
message ArrayValue { repeated AnyValue values = 1; }
`;
const REQUEST = protobuf.parse(OTLP).root.lookupType('Request');
const KINDS = ['unspecified', 'internal', 'server', 'client'];
const ERROR = 2;

export interface CollectedSpan {
  service: string;
  name: string;
  kind: string;
  traceId: string;
  spanId: string;
  /** Empty for the first span of a trace. */
  parentId: string;
  traceState: string;
  startNs: bigint;
  hasFailed: boolean;
  attributes: Record<string, unknown>;
  events: { name: string; attributes: Record<string, unknown> }[];
  links: { traceId: string; spanId: string }[];
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** An OTLP collector over HTTP that keeps what it gets. */
export class TraceCollector {
  readonly spans: CollectedSpan[] = [];
  /** Attributes of the resource of the last spans of each service. */
  readonly resources = new Map<string, Record<string, unknown>>();
  /** Exports of metrics, the last one last. */
  readonly metrics: CollectedExport[] = [];
  /** Every body received with spans. */
  readonly bodies: Buffer[] = [];
  /** Every body received with metrics. */
  readonly metricBodies: Buffer[] = [];
  readonly headers: IncomingMessage['headers'][] = [];
  /** Replaces the empty 200. */
  answer: Answer = (_request, response) => void response.end();
  private readonly arrivals = new EventEmitter();
  private readonly server: Server = createServer((request, response) => void this.serve(request, response));

  static async start(): Promise<TraceCollector> {
    const collector = new TraceCollector();
    collector.server.listen(0, '127.0.0.1');
    await once(collector.server, 'listening');
    return collector;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Resolves when the spans collected so far fulfil the condition. */
  async until(holds: (spans: readonly CollectedSpan[]) => boolean): Promise<void> {
    while (!holds(this.spans)) await once(this.arrivals, 'spans');
  }

  /** Resolves when the exports of metrics collected so far fulfil the condition. */
  async untilMetrics(holds: (metrics: readonly CollectedExport[]) => boolean): Promise<void> {
    while (!holds(this.metrics)) await once(this.arrivals, 'metrics');
  }

  of(traceId: string): CollectedSpan[] {
    return this.spans.filter((span) => span.traceId === traceId);
  }

  async close(): Promise<void> {
    this.server.close();
    this.server.closeAllConnections();
    await once(this.server, 'close');
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    this.headers.push(request.headers);
    if (request.url === '/v1/metrics') {
      this.metricBodies.push(body);
      this.metrics.push(...decodeMetrics(body));
      this.arrivals.emit('metrics');
    } else {
      this.bodies.push(body);
      for (const { resource, spans } of decode(body)) {
        this.resources.set(String(resource['service.name']), resource);
        this.spans.push(...spans);
      }
      this.arrivals.emit('spans');
    }
    this.answer(request, response);
  }
}

/** Returns the spans of a trace as an indented tree: `service kind name`, siblings by their start. Throws when it is not one tree. */
export function renderTree(spans: readonly CollectedSpan[]): string[] {
  const [tree = [], ...others] = renderTrees(spans);
  if (others.length > 0) throw new Error(`${1 + others.length} trees: ${JSON.stringify([tree, ...others])}`);
  return tree;
}

/** Returns the trees of a trace some of whose spans are missing, by the start of their first spans. */
export function renderTrees(spans: readonly CollectedSpan[]): string[][] {
  const known = new Set(spans.map(({ spanId }) => spanId));
  if (known.size !== spans.length) throw new Error(`spans came twice: ${spans.map(({ name }) => name)}`);
  const roots = spans.filter(({ parentId }) => !known.has(parentId)).sort((one, other) => Number(one.startNs - other.startNs));
  const below = (parent: CollectedSpan, depth: number): string[] => [
    `${'  '.repeat(depth)}${parent.service} ${parent.kind} ${parent.name}${parent.hasFailed ? ' FAILED' : ''}`,
    ...spans
      .filter(({ parentId }) => parentId === parent.spanId)
      .sort((one, other) => Number(one.startNs - other.startNs))
      .flatMap((child) => below(child, depth + 1)),
  ];
  return roots.map((root) => below(root, 0));
}

interface KeyValue {
  key: string;
  value: Record<string, unknown>;
}

// biome-ignore lint/suspicious/noExplicitAny: protobufjs decodes to plain objects of the schema above.
type Decoded = any;

function decode(body: Buffer): { resource: Record<string, unknown>; spans: CollectedSpan[] }[] {
  const { resourceSpans }: Decoded = REQUEST.toObject(REQUEST.decode(body), { longs: String, bytes: Buffer, defaults: true });
  return resourceSpans.map(({ resource: { attributes }, scopeSpans }: Decoded) => {
    const resource = readAttributes(attributes);
    const service = String(resource['service.name']);
    return { resource, spans: scopeSpans.flatMap(({ spans }: Decoded) => spans.map((span: Decoded) => toSpan(span, service))) };
  });
}

function toSpan(span: Decoded, service: string): CollectedSpan {
  return {
    service,
    name: span.name,
    kind: KINDS[span.kind] ?? String(span.kind),
    traceId: hex(span.traceId),
    spanId: hex(span.spanId),
    parentId: hex(span.parentSpanId),
    traceState: span.traceState,
    startNs: BigInt(span.startTimeUnixNano),
    hasFailed: span.status?.code === ERROR,
    attributes: readAttributes(span.attributes),
    events: span.events.map((event: Decoded) => ({ name: event.name, attributes: readAttributes(event.attributes) })),
    links: span.links.map((link: Decoded) => ({ traceId: hex(link.traceId), spanId: hex(link.spanId) })),
  };
}

function readAttributes(list: KeyValue[]): Record<string, unknown> {
  return Object.fromEntries(list.map(({ key, value }) => [key, plainValue(value)]));
}

function plainValue(value: KeyValue['value']): unknown {
  const [kind, plain] = Object.entries(value).find(([name]) => name.endsWith('Value')) ?? [];
  if (kind === 'arrayValue') return (plain as { values: KeyValue['value'][] }).values.map(plainValue);
  return kind === 'intValue' ? Number(plain) : plain;
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
