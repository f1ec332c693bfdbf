import { UPSTREAM_KINDS, type Upstream } from '#contracts/catalog.js';
import { longOr } from '#testing/long-run.js';

/** Dialects that meet the faults of the transport: in `npm test` one of each form of a stream, in the long run all. */
export const TRANSPORT_KINDS = longOr<readonly Upstream['kind'][]>(['openai-chat', 'bedrock-converse'], UPSTREAM_KINDS);
